"""Networks as ONNX graphs, for programs without Python (extra ``onnx``)."""

from priorfit.onnx.export import export_onnx as export_onnx
