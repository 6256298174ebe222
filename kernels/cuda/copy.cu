/* Strided copy. A block of a plane whose dense axes differ goes through a tile of shared memory, so
 * that both its reads and its writes are dense; lines that are dense in both go by runs, everything
 * else is one thread per element. */
#include "kernels/cuda/element.cuh"

enum { TILE = 32, ROWS_AT_ONCE = LH_THREADS / TILE };

typedef struct copy_axis {
    int64_t size, x_stride, y_stride;
} copy_axis;

typedef struct copy_box {
    int rank;
    copy_axis axis[LH_MAX_RANK]; /* outermost first */
    lh_act x, y;
    lh_write write;
} copy_box;

/* Unit axes dropped, the axis along which y is densest last. */
static copy_box normalize(const lh_copy_args *args) {
    copy_box box = {};
    box.x = args->x;
    box.y = args->y;
    box.write = args->write;
    for (int i = 0; i < args->rank; ++i) {
        if (args->shape[i] == 1) continue;
        const copy_axis axis = {args->shape[i], args->x_stride[i], args->y_stride[i]};
        int place = box.rank++;
        for (; place > 0 && box.axis[place - 1].y_stride < axis.y_stride; --place)
            box.axis[place] = box.axis[place - 1];
        box.axis[place] = axis;
    }
    return box;
}

static int64_t count_of(const copy_box *box, int rank) {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i)
        count *= box->axis[i].size;
    return count;
}

/* Offsets of entry `index` of the first `rank` axes, counted row-major. */
__device__ static void locate(const copy_box &box, int rank, int64_t index, int64_t *x,
                              int64_t *y) {
    *x = *y = 0;
    for (int i = rank - 1; i >= 0; --i) {
        const int64_t place = index % box.axis[i].size;
        index /= box.axis[i].size;
        *x += place * box.axis[i].x_stride;
        *y += place * box.axis[i].y_stride;
    }
}

template <typename from, typename to>
static lh_status copy_elements(const lh_launch *launch, const copy_box &box) {
    const from *data = lh_elements<from>(box.x);
    to *place = lh_elements<to>(box.y);
    return lh_each(launch, count_of(&box, box.rank), [=] __device__(int64_t i) {
        int64_t x, y;
        locate(box, box.rank, i, &x, &y);
        lh_store(&place[y], box.write, lh_load(&data[x]));
    });
}

/* Along the last axis both are dense. */
template <typename from, typename to>
static lh_status copy_lines(const lh_launch *launch, const copy_box &box) {
    const from *data = lh_elements<from>(box.x);
    to *place = lh_elements<to>(box.y);
    const int64_t width = box.axis[box.rank - 1].size;
    return lh_each_row_run(
        launch, count_of(&box, box.rank - 1), width, [=] __device__(int64_t line, int64_t begin) {
            int64_t x, y;
            locate(box, box.rank - 1, line, &x, &y);
            lh_store_run(place + y, begin, width, box.write, lh_load_run(data + x, begin, width));
        });
}

/* The last two axes are the plane: x is dense along the first of them, y along the second. */
template <typename from, typename to>
__global__ void __launch_bounds__(LH_THREADS)
    transpose_planes(copy_box box, int64_t across, int64_t along, int64_t tiles) {
    LH_SHARED(real, tile, [TILE][TILE + 1]);
    const from *data = lh_elements<from>(box.x);
    to *target = lh_elements<to>(box.y);
    const copy_axis row = box.axis[box.rank - 2], column = box.axis[box.rank - 1];
    const int lane = (int)(threadIdx.x % TILE), first = (int)(threadIdx.x / TILE);
    for (int64_t place = blockIdx.x; place < tiles; place += gridDim.x) {
        int64_t x, y;
        locate(box, box.rank - 2, place / (across * along), &x, &y);
        const int64_t r = place / along % across * TILE, c = place % along * TILE;
        for (int i = first; i < TILE; i += ROWS_AT_ONCE)
            if (r + lane < row.size && c + i < column.size)
                tile[i][lane] = lh_load(&data[x + r + lane + (c + i) * column.x_stride]);
        __syncthreads();
        for (int i = first; i < TILE; i += ROWS_AT_ONCE)
            if (r + i < row.size && c + lane < column.size)
                lh_store(&target[y + (r + i) * row.y_stride + c + lane], box.write, tile[lane][i]);
        __syncthreads();
    }
}

static bool is_dense(const copy_box *box) {
    if (box->rank == 0) return false;
    const copy_axis last = box->axis[box->rank - 1];
    return last.x_stride == 1 && last.y_stride == 1;
}

/* The axis along which x is dense while y is dense along the last; -1 when there is none. */
static int transposed_axis(const copy_box *box) {
    if (box->rank < 2) return -1;
    const copy_axis last = box->axis[box->rank - 1];
    if (last.y_stride != 1 || last.x_stride <= 1) return -1;
    for (int i = box->rank - 2; i >= 0; --i)
        if (box->axis[i].x_stride == 1) return i;
    return -1;
}

template <typename from, typename to>
static lh_status copy_planes(const lh_launch *launch, copy_box box, int dense) {
    const copy_axis row = box.axis[dense];
    for (int i = dense; i < box.rank - 2; ++i)
        box.axis[i] = box.axis[i + 1];
    box.axis[box.rank - 2] = row;
    const int64_t across = lh_chunk_count(row.size, TILE);
    const int64_t along = lh_chunk_count(box.axis[box.rank - 1].size, TILE);
    const int64_t tiles = count_of(&box, box.rank - 2) * across * along;
    return LH_LAUNCH((transpose_planes<from, to>), lh_blocks(tiles, 1), LH_THREADS, 0, launch, box,
                     across, along, tiles);
}

template <typename from, typename to>
static lh_status copy_between(const lh_launch *launch, const copy_box &box) {
    const int dense = transposed_axis(&box);
    if (dense >= 0) return copy_planes<from, to>(launch, box, dense);
    return is_dense(&box) ? copy_lines<from, to>(launch, box)
                          : copy_elements<from, to>(launch, box);
}

template <typename from> static lh_status copy_from(const lh_launch *launch, const copy_box &box) {
    if (box.y.dtype == LH_REAL) return copy_between<from, real>(launch, box);
    return box.y.dtype == LH_BF16 ? copy_between<from, __nv_bfloat16>(launch, box) : LH_EOPTION;
}

lh_status lh_cuda_copy(const lh_launch *launch, const lh_copy_args *args) {
    const copy_box box = normalize(args);
    if (count_of(&box, box.rank) == 0) return LH_OK;
    return LH_FOR_ELEMENT(args->x.dtype, copy_from, launch, box);
}
