"""ONNX Runtime's operators, each as a model of one node whose inputs and outputs are bound to the shared memory."""

import numpy as np
import onnxruntime

import onnx_model as onnx
from call import PythonCall, Unsupported, address, as_numbers

TYPES = {"f32": (onnx.FLOAT, np.float32), "f16": (onnx.FLOAT16, np.float16)}


class Node(PythonCall):
    """Subclasses give self.operator and, for operand set i, self.inputs(i) and self.outputs(i): {name: array}."""

    opset, domain, attributes = 23, "com.microsoft", {}

    def prepare(self, threads):
        kinds = {np.dtype(kind): code for code, kind in (*TYPES.values(), (onnx.INT32, np.int32), (onnx.BOOL, bool))}

        def described(arrays):
            return {name: None if x is None else (kinds[x.dtype], x.shape) for name, x in arrays.items()}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        if threads > 1:  # its threads must not spin while another peer's work
            options.add_session_config_entry("session.force_spinning_stop", "1")
        bytes = onnx.model(self.operator, self.domain, described(self.inputs(0)), described(self.outputs(0)),
                           self.attributes, self.opset)
        try:
            session = onnxruntime.InferenceSession(bytes, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Unsupported(str(error).splitlines()[0][:120]) from None
        run, run_options, self.keep = session._sess.run_with_iobinding, onnxruntime.RunOptions(), [session]
        self.calls = []
        for i in range(len(self.sets)):
            binding = session.io_binding()
            for name, x in self.inputs(i).items():
                if x is not None:
                    binding.bind_input(name, "cpu", 0, x.dtype.type, x.shape, address(x))
                    self.keep.append(x)
            for name, x in self.outputs(i).items():
                binding.bind_output(name, "cpu", 0, x.dtype.type, x.shape, address(x))
                self.keep.append(x)
            self.keep.append(binding)
            self.calls.append(lambda binding=binding._iobinding: run(binding, run_options))

    def array(self, x, *shape):
        return as_numbers(x, self.point.type, *shape)

    def close(self):
        super().close()
        self.keep = None


class _AttentionNode(Node):
    def __init__(self, shared, point, threads, k_layout, out_layout):
        if point.type not in TYPES:
            raise Unsupported("f32 and f16 only")
        if len(set(point.lengths)) > 1 and self.operator != "GroupQueryAttention":
            raise Unsupported("one length only")
        super().__init__(shared, point, k_layout=k_layout, v_layout=k_layout, out_layout=out_layout, narrow=True)
        p = point
        # As the operator has them: by heads or by tokens. The numbers of q are checked in the order of heads.
        q = self.narrow_query.reshape(p.batch, p.Hq, p.Lq, p.D)
        self.q = np.ascontiguousarray(q.transpose(0, 2, 1, 3)).reshape(p.batch, p.Lq, p.Hq * p.D) \
            if out_layout == "tokens" else q
        self.prepare(threads)

    def outputs(self, i):
        return {"out": self.array(self.out[i], *self.q.shape)}


class MultiHead(_AttentionNode):
    operator = "MultiHeadAttention"

    def __init__(self, shared, point, threads):
        if point.group > 1:
            raise Unsupported("no groups")
        if point.causal and point.Lq != point.Lkv:
            raise Unsupported("causal from the first key only")
        self.attributes = {"num_heads": point.Hq, "unidirectional": int(point.causal)}
        # Keys by tokens when they are as new as the queries, by heads when they come from a cache.
        super().__init__(shared, point, threads, "tokens" if point.Lq == point.Lkv else "rows", "tokens")

    def inputs(self, i):
        p = self.point
        shape = (p.batch, p.Hkv, p.Lkv, p.D) if self.k_layout == "rows" else (p.batch, p.Lkv, p.Hkv * p.D)
        return {"q": self.q, "k": self.array(self.sets.k[i], *shape), "v": self.array(self.sets.v[i], *shape)}


class GroupQuery(_AttentionNode):
    """Causal only. Against a cache the last Lq of the keys are given anew and written over themselves, as a model would
    append them."""

    operator = "GroupQueryAttention"

    def __init__(self, shared, point, threads):
        self.cached = point.Lq < point.Lkv
        if not (point.causal or point.Lq == 1):
            raise Unsupported("causal only")
        if self.cached and point.Lq > 1 and point.batch > 1:
            raise Unsupported("several queries of one sequence only")
        self.attributes = {"num_heads": point.Hq, "kv_num_heads": point.Hkv}
        super().__init__(shared, point, threads, "rows" if self.cached else "tokens", "tokens")

    def _cache(self, i):
        p = self.point
        return [self.array(x, p.batch, p.Hkv, p.Lkv, p.D) for x in (self.sets.k[i], self.sets.v[i])]

    def inputs(self, i):
        p, ends = self.point, np.array(self.point.lengths, np.int32)
        if self.cached:
            past = self._cache(i)
            new = [np.stack([x[b, :, n - p.Lq:n].transpose(1, 0, 2) for b, n in enumerate(ends)]) for x in past]
        else:
            past, new = [None, None], [self.array(x, p.batch, p.Lkv, p.Hkv, p.D) for x in (self.sets.k[i], self.sets.v[i])]
        k, v = (x.reshape(p.batch, p.Lq, p.Hkv * p.D) for x in new)
        return {"q": self.q, "k": k, "v": v, "past_k": past[0], "past_v": past[1], "ends": ends - 1,
                "total": np.array([p.Lkv], np.int32)}

    def outputs(self, i):
        p = self.point
        if self.cached:
            k, v = self._cache(i)
        else:
            if not hasattr(self, "present"):
                self.present = [np.empty((p.batch, p.Hkv, p.Lkv, p.D), TYPES[p.type][1]) for _ in range(2)]
            k, v = self.present
        return {**super().outputs(i), "present_k": k, "present_v": v}


class Attention(_AttentionNode):
    """The standard's operator."""

    operator, domain = "Attention", ""

    def __init__(self, shared, point, threads):
        if point.type == "f16" and point.pairs() * point.Hq > 1 << 20:
            raise Unsupported("seconds per call in f16")
        self.attributes = {"is_causal": int(point.causal and point.Lq == point.Lkv)}
        # is_causal would stand the first query at the first key.
        self.mask = np.tri(point.Lq, point.Lkv, point.Lkv - point.Lq, dtype=bool) \
            if point.causal and point.Lq != point.Lkv else None
        super().__init__(shared, point, threads, "rows", "rows")

    def inputs(self, i):
        p = self.point
        k, v = (self.array(x, p.batch, p.Hkv, p.Lkv, p.D) for x in (self.sets.k[i], self.sets.v[i]))
        mask = {} if self.mask is None else {"mask": self.mask}
        return {"q": self.q, "k": k, "v": v, **mask}


class Softmax(Node):
    operator, domain, opset, attributes = "Softmax", "", 13, {"axis": -1}

    def __init__(self, shared, point, threads):
        super().__init__(shared, point)
        self.prepare(threads)

    def inputs(self, i):
        return {"x": self.array(self.sets.k[i], self.point.Lq, self.point.Lkv)}

    def outputs(self, i):
        return {"y": self.array(self.out[i], self.point.Lq, self.point.Lkv)}


class Peer:
    def __init__(self, name, attention, softmax=None):
        self.name, self.attention, self.softmax = name, attention, softmax

    def make(self, shared, point, threads):
        if not point.kernel:
            return self.attention(shared, point, threads)
        if point.family != "softmax" or self.softmax is None:
            raise Unsupported("not this kernel")
        return self.softmax(shared, point, threads)


def peers(threads):
    onnxruntime.set_default_logger_severity(4)
    # The first session of a process registers all operators: now, while standard error is shut.
    nothing = {"x": (onnx.FLOAT, (1, 1))}
    onnxruntime.InferenceSession(onnx.model("Softmax", "", nothing, {"y": (onnx.FLOAT, (1, 1))}, {}, 13),
                                 providers=["CPUExecutionProvider"])
    return [Peer("onnxruntime_mha", MultiHead), Peer("onnxruntime_gqa", GroupQuery),
            Peer("onnxruntime_attention", Attention, Softmax)]
