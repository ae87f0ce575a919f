"""The page that needs no server: networks in JavaScript, their weights and the page itself in one file.

``js/network/`` mirrors `priorfit.network` file by file.
"""

from priorfit.web.export import export_page as export_page
