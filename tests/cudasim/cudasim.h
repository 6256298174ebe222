/* What a test asks of the simulator, beside running kernels. */
#ifndef LH_TESTS_CUDASIM_CUDASIM_H
#define LH_TESTS_CUDASIM_CUDASIM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which the threads of a block and the blocks of a grid run between two barriers. A
 * kernel that lacks a barrier gives other results in another order. */
typedef enum cudasim_order {
    CUDASIM_ASCENDING,
    CUDASIM_DESCENDING,
    CUDASIM_SHUFFLED,
    CUDASIM_ORDERS
} cudasim_order;

void cudasim_set_order(cudasim_order order);

/* How many GPUs the machine has, 1 at first. */
void cudasim_set_devices(int count);

/* Bytes of device memory, 1 GiB at first; an allocation beyond them fails. */
void cudasim_set_memory(size_t bytes);

/* Operands in bf16, of products of cuBLAS so far, whose rows do not begin and end at multiples of
 * 16 bytes: for these it has no fast kernel. */
long cudasim_unaligned_operands(void);

/* Products so far that took along what follows them (cuBLASLt); and whether any algorithm is found
 * for such a product, as at first. */
long cudasim_epilogues(void);
void cudasim_find_epilogues(bool found);

/* Kernels that were launched, or captured, so far; a product of cuBLAS is one. */
long cudasim_launches(void);

/* Executable graphs that were made so far; and whether there is memory for another, as at first. */
int cudasim_graphs(void);
void cudasim_make_graphs(bool made);

#ifdef __cplusplus
}
#endif

#endif
