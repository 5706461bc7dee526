"""PyTorch: scaled_dot_product_attention as it dispatches itself, and what a careful user makes of it in decode, where
the query heads of a group are laid out as rows by hand. Its own kernels beside them."""

import torch
import torch.nn.functional as F

from call import PythonCall, Unsupported, as_numbers

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def view(array, type, *shape):
    tensor = torch.from_numpy(as_numbers(array, type, *shape))
    return tensor.view(torch.bfloat16) if type == "bf16" else tensor


class Attention(PythonCall):
    def __init__(self, shared, point, fold):
        if point.type == "int8":
            raise Unsupported("no int8 keys and values")
        if fold and not (point.group > 1 and point.Lq == 1):
            raise Unsupported("only for groups in decode")
        super().__init__(shared, point, narrow=True)
        p, self.returned = point, None
        q = view(self.narrow_query, p.type, p.batch, p.Hq, p.Lq, p.D)
        if fold:
            q = q.reshape(p.batch, p.Hkv, p.group, p.D)
        options = {"enable_gqa": p.group > 1 and not fold}
        if p.causal and p.Lq == p.Lkv:
            options["is_causal"] = True
        elif p.causal:  # is_causal would stand the first query at the first key
            options["attn_mask"] = torch.ones(p.Lq, p.Lkv, dtype=torch.bool).tril(p.Lkv - p.Lq)
        self.calls = []
        for k, v in zip(self.sets.k, self.sets.v):
            k, v = (view(x, p.type, p.batch, p.Hkv, p.Lkv, p.D) for x in (k, v))
            self.calls.append(self._ragged(q, k, v, options) if len(set(p.lengths)) > 1 else self._dense(q, k, v, options))

    def _dense(self, q, k, v, options):
        def call(attention=F.scaled_dot_product_attention):
            self.returned = attention(q, k, v, **options)
        return call

    def _ragged(self, q, k, v, options):
        """One call after the other: faster than a mask over the padding."""
        parts = [(q[b:b + 1], k[b:b + 1, :, :n], v[b:b + 1, :, :n]) for b, n in enumerate(self.point.lengths)]

        def call(attention=F.scaled_dot_product_attention):
            self.returned = [attention(*part, **options) for part in parts]
        return call

    def result(self):
        out = torch.cat(self.returned) if isinstance(self.returned, list) else self.returned
        return out.float().reshape(self.point.batch, self.point.Hq, self.point.Lq, self.point.D).numpy()


class Kernel(PythonCall):
    def __init__(self, shared, point):
        super().__init__(shared, point)
        q, p = torch.from_numpy(self.query), point
        outs = [torch.from_numpy(each.view("float32")) for each in self.out]
        ks = [torch.from_numpy(each.view("float32")) for each in self.sets.k]
        if p.family == "softmax":
            self.calls = [lambda k=k.reshape(p.Lq, -1), o=o.reshape(p.Lq, -1): torch.softmax(k, -1, out=o)
                          for k, o in zip(ks, outs)]
        elif p.family == "dot":
            self.calls = [lambda k=k, o=o[0]: torch.dot(q, k, out=o) for k, o in zip(ks, outs)]
        else:
            matrices = (k.reshape(p.Lkv, p.D) for k in ks)
            if p.family == "weighted_sum":
                matrices = (k.t() for k in matrices)
            self.calls = [lambda k=k, o=o: torch.mv(k, q, out=o) for k, o in zip(matrices, outs)]


class Peer:
    def __init__(self, name, fold):
        self.name, self.fold = name, fold

    def make(self, shared, point, threads):
        if not point.kernel:
            return Attention(shared, point, self.fold)
        if self.fold:
            raise Unsupported("attention only")
        return Kernel(shared, point)


def peers(threads):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return [Peer("torch", False), Peer("torch_folded", True)]
