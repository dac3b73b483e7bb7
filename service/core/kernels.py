"""``kernel``, the decorator of kernels: Numba compiles them to run without the interpreter's lock, and caches them on disk.

``inner_kernel`` is for those that only kernels call: they compile faster without the code that takes Python's objects apart.
``borrowing_kernel`` is for the shortest of them. ``brief_kernel`` is for those that take less time than releasing the lock.
"""

import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from threading import Thread
from types import CodeType, ModuleType
from typing import Any, Final, TypeVar

import numpy as np
from numba import types
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary, get_host_cpu_features, ll  # type: ignore[attr-defined]
from numba.core.compiler import compile_result
from numba.core.registry import CPUDispatcher
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

_Function = TypeVar("_Function", bound=Callable[..., Any])

logger = logging.getLogger(__name__)

unsaved: set[str] = set()
"""Why this process could not save compilations: each reason is logged once."""

FORM: Final = 1
"""Of compilations on disk. Those of another form are compiled anew, such as the ones before functions were numbered apart."""

_OPTIONS: Final = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True}  # kernels are not called from C


def _number_functions_apart() -> None:
    """Let Numba number the functions that this process compiles from a random number on, not from 1.

    The number distinguishes machine code of closures, such as the two sorts of ``np.sort`` and ``np.argsort``. Kernels that two
    processes have compiled would else have code of one name, and a process that loads both would run the first for either.
    """
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(7), "big"))  # noqa: SLF001


def _load_one_by_one() -> None:
    """Let LLVM load the values of a vector one by one on AMD's CPUs: by gathers, 16-byte keys take twice as long to hash.

    What the environment says of the CPU (NUMBA_CPU_NAME, NUMBA_CPU_FEATURES) stands.
    """
    if config.CPU_NAME is None and config.CPU_FEATURES is None and ll.get_host_cpu_name().startswith("znver"):  # type: ignore[attr-defined]
        config.CPU_FEATURES = f"{get_host_cpu_features()},+prefer-no-gather"  # type: ignore[attr-defined,no-untyped-call]


_load_one_by_one()
_number_functions_apart()
os.register_at_fork(after_in_child=_number_functions_apart)


class DamagedCache(RuntimeError):
    """A file of a compiled kernel can neither be read nor deleted; the text names it."""


class _LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The machine code of a compilation from the disk. Its bitcode is read when a kernel that calls it is compiled.

    Numba reads both, which takes three times as long.
    """

    def __init__(self, codegen: Any, name: str, machine_code: bytes, bitcode: bytes, entry_point: str) -> None:
        super().__init__(codegen, name)  # type: ignore[no-untyped-call]
        self._bitcode = bitcode
        self.enable_object_caching()  # type: ignore[no-untyped-call]
        self._set_compiled_object(machine_code)  # type: ignore[no-untyped-call]
        self._finalize_final_module()  # type: ignore[no-untyped-call]
        codegen._engine._defined_symbols.add(entry_point)  # noqa: SLF001

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = ll.parse_bitcode(self._bitcode)  # type: ignore[no-untyped-call]
            self._codegen._engine._load_defined_symbols(self._shared_module)  # type: ignore[no-untyped-call]  # noqa: SLF001
        return self._shared_module


class _Compilations(CompileResultCacheImpl):  # type: ignore[misc]
    """Compilations as files. Of the functions that are part of one, only those that have constants are in it.

    To have the others, Numba would import the modules of its own that define them, SciPy's linear algebra among them.
    """

    def reduce(self, compilation: Any) -> Any:
        """What is saved."""
        *parts, environments = super().reduce(compilation)  # type: ignore[no-untyped-call]
        return (*parts, tuple(each for each in environments if each is compilation.environment or each.consts))


class _Callable(_Compilations):
    """Compilations of kernels that Python calls."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """A compilation from the disk, ready to be called."""
        (name, _, (machine_code, bitcode)), function, environment, signature, *_, environments = payload
        codegen = target_context.codegen()
        library = _LoadedLibrary(codegen, name, machine_code, bitcode, function.llvm_cpython_wrapper_name)
        for each in environments:
            codegen.set_env(each.env_name, each)
        return compile_result(  # type: ignore[no-untyped-call]
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=target_context.get_executable(library, function, environment),
            fndesc=function,
            signature=signature,
            objectmode=False,
            lifted=(),
            referenced_envs=environments,
        )


class _Cache(FunctionCache):  # type: ignore[misc]
    """A kernel's compilations on disk. Where one cannot be read, their index is deleted, and the kernel is compiled anew.

    One that cannot be saved, because the disk is full for example, serves this process only. Numba's own cache compares only the
    kernel's file; this one also compares what compiled code contains of others: kernels, constants, the fields of named tuples.
    """

    def __init__(self, dispatcher: CPUDispatcher) -> None:
        self._impl_class = _Compilations if isinstance(dispatcher, _InnerKernel) else _Callable
        super().__init__(dispatcher.py_func)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = FORM, self._cache_file._source_stamp, _stamp(dispatcher)  # noqa: SLF001

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), tuple(_fields(sig)))  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """See Cache."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            reason = error.strerror or type(error).__name__
            if reason not in unsaved:
                unsaved.add(reason)
                text = "The compiled kernel %s cannot be saved (%s). Each process compiles such kernels again."
                logger.warning(text, self._cache_file._index_path, reason)  # noqa: SLF001

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """See Cache, which first imports all that Numba compiles with; loading needs its runtime. Raises DamagedCache."""
        try:
            _add_runtime()
            with self._guard_against_spurious_io_errors():  # type: ignore[no-untyped-call]
                return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as damage:  # noqa: BLE001 - pickle raises anything
            index = Path(self._cache_file._index_path)  # noqa: SLF001
            try:
                index.unlink(missing_ok=True)
            except OSError as error:
                raise DamagedCache(
                    f"The compiled kernel {index} cannot be read ({type(damage).__name__}) and cannot be deleted "
                    f"({error.strerror}). Delete it, so that it is compiled again."
                ) from None
            return None


@cache
def _add_runtime() -> None:
    """Let loaded machine code call Numba's runtime. ``rtsys.initialize`` also compiles what only compilers add to their code."""
    for name, address in _nrt_python.c_helpers.items():
        ll.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)  # type: ignore[no-untyped-call]


class _Kernel(CPUDispatcher):
    """A kernel that is compiled once for kernels that call it with an int32, an int64 or a constant.

    Numba by itself compiles a kernel again for each mix of widths and for each constant. It widens an int32 in signed arithmetic
    anyhow, so the results are the same.
    """

    @cached_property
    def _cache(self) -> _Cache:
        """The kernel's compilations on disk. To find a folder for them takes 0.2 ms, spent when the kernel is first called."""
        return _Cache(self)

    def enable_caching(self) -> None:
        """Keep compilations on disk."""
        del self.__dict__["_cache"]  # Numba's, which keeps none

    def _compilation_chain_init_hook(self) -> None:
        """Look for no extensions of Numba, whose types no kernel has: that would read the metadata of all distributions."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The compilation for arguments of these types, asked for while a kernel is compiled that calls this one."""
        return super().get_call_template([_widest(arg) for arg in args], {name: _widest(kws[name]) for name in kws})

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Compile or load in a thread of its own: the CPU that an answer may take, by its thread's clock, has nothing of this."""
        outcome: Future[Any] = Future()

        def compile_for_args() -> None:
            try:
                outcome.set_result(super(_Kernel, self)._compile_for_args(*args, **kws))  # type: ignore[misc]
            except BaseException as error:  # noqa: BLE001 - raised again below
                outcome.set_exception(error)

        Thread(target=compile_for_args, daemon=True).start()
        return outcome.result()


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


def borrowing_kernel(function: _Function) -> _Function:
    """The same for a short function that makes no arrays: it becomes part of its callers, and counts no references to arrays.

    One that returns an array may only be called by others of its kind. Reading the records of coordinators takes a fifth of the
    time so, and compiling their reader half of it.
    """
    return _cached(_InnerKernel, function, {**_OPTIONS, "no_cpython_wrapper": True, "_nrt": False, "forceinline": True})


def brief_kernel(function: _Function) -> _Function:
    """The same for a function that takes a millisecond for a million, and for one less than releasing the lock would."""
    return _cached(_Kernel, function, {**_OPTIONS, "nogil": False})


def _cached(dispatcher_class: type[_Kernel], function: _Function, options: dict[str, bool]) -> _Function:
    dispatcher = dispatcher_class(function, targetoptions=options)
    dispatcher.enable_caching()
    return dispatcher  # type: ignore[return-value]


def _stamp(dispatcher: CPUDispatcher) -> bytes:
    """A digest of the kernel, of those that it calls, directly or not, and of the constants in them; paths are not part of it."""
    digest, reached, known = sha256(), [dispatcher], {dispatcher}
    for each in reached:
        content, callees = _content(each)
        digest.update(content)
        reached += [callee for callee in callees if callee not in known]
        known.update(callees)
    return digest.digest()


@cache
def _content(dispatcher: CPUDispatcher) -> tuple[bytes, tuple[CPUDispatcher, ...]]:
    """What a kernel's own code and constants are; and which kernels it calls, each once."""
    function = dispatcher.py_func
    values = list(_globals(function.__code__, function.__globals__))
    plain = (dispatcher.targetoptions, _plain(function.__code__), _plain(function.__defaults__), _plain(tuple(values)))
    return repr(plain).encode(), tuple(dict.fromkeys(value for value in values if isinstance(value, CPUDispatcher)))


def _globals(code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """The values of the names that the code looks up in its module, and in the modules that it names."""
    found = [names[name] for name in code.co_names if name in names]
    yield from found
    for module in found:
        if isinstance(module, ModuleType):
            yield from (vars(module)[name] for name in code.co_names if name in vars(module))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _globals(const, names)


def _plain(value: Any) -> Any:
    """A value of which compiled code has a copy, in such a form that its ``repr`` is the same in every process."""
    match value:
        case CodeType():
            return value.co_code, value.co_names, value.co_varnames, value.co_exceptiontable, _plain(value.co_consts)
        case np.ndarray():
            return value.dtype.str, value.shape, value.tobytes()
        case tuple():
            return [_plain(part) for part in value]
        case frozenset():
            return sorted(map(repr, value))
        case type():
            return value.__name__, getattr(value, "_fields", ())
    return value if value is None or isinstance(value, int | float | str | bytes | np.generic) else type(value).__name__


def _fields(arguments: Iterable[Any]) -> Iterator[tuple[str, ...]]:
    """The fields of each named tuple among these types: compiled code knows them by their positions."""
    for type_ in arguments:
        if hasattr(type_, "instance_class"):
            yield type_.instance_class._fields
        yield from _fields(getattr(type_, "types", ()))


def _widest(type_: Any) -> Any:
    plain = types.unliteral(type_)  # type: ignore[no-untyped-call]
    return types.int64 if plain in types.signed_domain else plain
