"""The mask of the Recurrent Memory Transformer's release."""
import torch


def hidden_pairs(queries, cached, count, reads_cache):
    """What [memory; tokens; memory] does not see of the cache and of itself, `count` tokens of memory on either side."""
    mask = torch.triu(torch.ones(queries, cached + queries), 1 + cached)
    for rows, keys in ((slice(count), slice(cached, cached + count)), (slice(-count, None), slice(-count, None))):
        mask[rows, keys] = 0
        mask[rows, :cached] = 0 if reads_cache else 1
    return mask.bool()[:, :, None]
