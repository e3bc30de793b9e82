from typing import Any

SHIPPED_OPS: str
Collector: Any

def operator(*arguments: Any) -> Any: ...
