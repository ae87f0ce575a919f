"""Tables in, tables out: the rows of a CSV file whose target is empty, predicted from its other rows."""

from priorfit.tables.fits import Fit as Fit
from priorfit.tables.fits import holds_fit as holds_fit
from priorfit.tables.fits import save_fit as save_fit
from priorfit.tables.prediction import Answer as Answer
from priorfit.tables.prediction import Excess as Excess
from priorfit.tables.prediction import answer_rows as answer_rows
from priorfit.tables.prediction import answered as answered
from priorfit.tables.prediction import checked_levels as checked_levels
from priorfit.tables.prediction import table_text as table_text
from priorfit.tables.reading import Question as Question
from priorfit.tables.reading import is_number as is_number
from priorfit.tables.reading import read_table as read_table
from priorfit.tables.reading import split_table as split_table
