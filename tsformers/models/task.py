"""What a model can be asked to do."""

from __future__ import annotations

FORECASTS = ("long_term_forecast", "short_term_forecast")
OTHERS = ("imputation", "anomaly_detection", "classification")


def require_forecast(task_name: str) -> str:
    """``task_name`` itself, if it is a forecast.

    Raises:
        ValueError: a task that Time-Series-Library has and this package has not, or no task at all.
    """
    if task_name in FORECASTS:
        return task_name
    what = "目前只支持预测" if task_name in OTHERS else "不是已知的任务"
    raise ValueError(f"task_name ({task_name!r}) {what}，必须是 {' 或 '.join(map(repr, FORECASTS))}")
