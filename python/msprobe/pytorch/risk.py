"""risk_level: which names are left out when the user asks for fewer."""
import re

# Names that move or make data and compute nothing; FOCUS leaves them out.
LOW_RISK = frozenset(
    "squeeze unsqueeze reshape reshape_as view view_as flatten unflatten expand expand_as repeat repeat_interleave tile transpose "
    "permute moveaxis movedim swapaxes swapdims chunk unsafe_chunk split split_with_sizes unsafe_split unsafe_split_with_sizes "
    "tensor_split hsplit vsplit dsplit unbind stack cat concat concatenate hstack vstack dstack column_stack row_stack align_as "
    "align_to atleast_1d atleast_2d atleast_3d ravel clamp unfold type_as to float double int long half bfloat16 byte char bool "
    "cfloat numpy empty empty_like zeros zeros_like ones ones_like full full_like arange linspace logspace eye identity diag "
    "diagflat diag_embed triu tril triu_indices tril_indices clone __bool__ stride".split())

# Matrix products, convolutions, normalisations, embeddings and attention; CORE keeps only these, the fused operators
# and communication.
_CORE = re.compile(r"(.*mm|.*matmul.*|__matmul__|mv|dot|inner|einsum|linear|bilinear|chain_matmul|addbmm|addmv|addr|baddbmm|conv.*|"
                   r".*_norm|normalize|local_response_norm|embedding.*|.*attention.*|multi_head_attention_forward)")


def hidden(level: str):
    """Tells for (group, name) whether `level` leaves it out."""
    def is_hidden(group: str, name: str) -> bool:
        if level == "FOCUS":
            return name in LOW_RISK
        if level == "CORE":
            return group not in ("torch_npu", "distributed", "npu_distributed") and not _CORE.fullmatch(name)
        return False
    return is_hidden
