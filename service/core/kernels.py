"""``kernel``, the decorator of kernels: Numba compiles them to run without the interpreter's lock, and caches them on disk.

``inner_kernel`` is for those that only kernels call: they compile faster without the code that takes Python's objects apart.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from numba import types
from numba.core.registry import CPUDispatcher

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS: Final = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True}  # nobody calls kernels from C


class _Kernel(CPUDispatcher):
    """A kernel that is compiled once for kernels that call it with an int32, an int64 or a constant.

    Numba by itself compiles a kernel again for each mix of widths and for each constant. It widens an int32 in signed arithmetic
    anyhow, so the results are the same.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The compilation for arguments of these types, asked for while a kernel is compiled that calls this one."""
        return super().get_call_template([_widest(arg) for arg in args], {name: _widest(kws[name]) for name in kws})


class _InnerKernel(_Kernel):
    def add_overload(self, cres: Any) -> None:
        """Keep a compilation for kernels to call, and not for Python, which would jump to an address of 0."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *_: Any, **__: Any) -> Any:
        message = f"{self.py_func.__name__} is an inner_kernel, which only kernels call"
        raise TypeError(message)


def kernel(function: _Function) -> _Function:
    """Have Numba compile the function when it is first called with arguments of their types."""
    return _cached(_Kernel, function, _OPTIONS)


def inner_kernel(function: _Function) -> _Function:
    """The same for a function that only kernels call. Raises TypeError where Python calls it."""
    return _cached(_InnerKernel, function, {**_OPTIONS, "no_cpython_wrapper": True})


def _cached(dispatcher_class: type[_Kernel], function: _Function, options: dict[str, bool]) -> _Function:
    dispatcher = dispatcher_class(function, targetoptions=options)
    dispatcher.enable_caching()
    return dispatcher  # type: ignore[return-value]


def _widest(type_: Any) -> Any:
    plain = types.unliteral(type_)  # type: ignore[no-untyped-call]
    return types.int64 if plain in types.signed_domain else plain
