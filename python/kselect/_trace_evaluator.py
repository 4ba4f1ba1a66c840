"""The certificate as an evaluator of FlashInfer-Bench (flashinfer_bench/bench/evaluators)."""

import traceback
from typing import Any

import numpy as np
import torch
from flashinfer_bench.bench.evaluators import registry
from flashinfer_bench.bench.evaluators.default import DefaultEvaluator
from flashinfer_bench.bench.evaluators.utils import allocate_outputs, normalize_result
from flashinfer_bench.bench.utils import make_eval
from flashinfer_bench.data import Correctness, EvaluationStatus

from kselect import bench, trace


def _as_dict(definition: Any) -> dict[str, Any]:
    return definition.model_dump(mode="json")


class TopKEvaluator(DefaultEvaluator):
    """Right is what the certificate proves: no tolerance, and any of the elements that tie."""

    #: "largest" or "smallest": what the definitions mean.
    mode = "largest"

    @classmethod
    def can_evaluate(cls, definition: Any) -> bool:
        """Whether the definition is of a top-k that kselect has a problem for."""
        try:
            trace.problem_of(_as_dict(definition))
        except ValueError:
            return False
        return True

    @classmethod
    def check_correctness(
        cls,
        definition: Any,
        sol_runnable: Any,
        inputs: Any,
        ref_outputs: Any,
        cfg: Any,
        log_path: str,
        device: str,
    ) -> tuple[Any, Any]:
        """Run the solution on each trial's inputs and prove its answers."""
        names = trace.problem_of(_as_dict(definition))
        places = {name: i for i, name in enumerate(definition.outputs)}
        rows_at = list(definition.inputs).index(names["rows"])
        for given, wanted in zip(inputs, ref_outputs, strict=True):
            try:
                out = cls._answer(definition, sol_runnable, given, device)
            except Exception:
                traceback.print_exc()
                status = EvaluationStatus.RUNTIME_ERROR
                return None, make_eval(status=status, device=device, log_path=log_path)
            for own, reference in zip(out, wanted, strict=True):
                status = None
                if tuple(own.shape) != tuple(reference.shape):
                    status = EvaluationStatus.INCORRECT_SHAPE
                elif own.dtype != reference.dtype:
                    status = EvaluationStatus.INCORRECT_DTYPE
                if status is not None:
                    return None, make_eval(status=status, device=device, log_path=log_path)
            values, indices = (
                out[places[names[kind]]] if kind in names else None for kind in ("values", "indices")
            )
            wrong = cls._refuted(given[rows_at], values, indices)
            if wrong is not None:
                return cls._failed(wrong, device, log_path)
        extra = {"certificate": "proven"}
        return Correctness(max_relative_error=0.0, max_absolute_error=0.0, extra=extra), None

    @staticmethod
    def _answer(definition: Any, runnable: Any, given: Any, device: str) -> Any:
        with torch.no_grad():
            if runnable.metadata.destination_passing_style:
                out = allocate_outputs(definition, given, device)
                runnable(*given, *out)
            else:
                out = normalize_result(definition, runnable(*given), device)
        if str(device).startswith("cuda"):
            torch.cuda.synchronize(device)
        return out

    @classmethod
    def _refuted(cls, rows: Any, values: Any, indices: Any) -> str | None:
        contract = bench.Contract(mode=cls.mode)
        if values is None:  # those at the indices, which the certificate then ranks
            host = np.asarray(indices.cpu())
            if ((host < 0) | (host >= rows.shape[1])).any():
                return "index_range: an index lies outside its row"
            values = rows.gather(1, indices.long())
        return bench.refute(rows, values, indices, contract=contract)

    @staticmethod
    def _failed(wrong: str, device: str, log_path: str) -> tuple[Any, Any]:
        nan = float("nan")
        told = Correctness(
            max_relative_error=nan, max_absolute_error=nan, extra={"certificate": wrong}
        )
        status = EvaluationStatus.INCORRECT_NUMERICAL
        return told, make_eval(status=status, device=device, log_path=log_path, correctness=told)


def register() -> type[TopKEvaluator]:
    """Add it to FlashInfer-Bench's list, once."""
    if TopKEvaluator not in registry._EVALUATORS:
        registry._EVALUATORS.append(TopKEvaluator)
    return TopKEvaluator
