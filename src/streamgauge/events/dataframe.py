"""PySpark as event streams and workloads are written in it, imported when the first column is built.

The catalogue is listed, described and checked without Spark, so its modules do not import PySpark themselves.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["Column", "DataFrame", "F"]


class _Functions:
    def __getattr__(self, name: str) -> Any:
        from pyspark.sql import functions

        return getattr(functions, name)


if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F
else:
    Column = DataFrame = Any
    F = _Functions()
