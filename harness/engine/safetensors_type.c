/* How each element type of weight files is widened to a real. */
#include "harness/engine/safetensors_type.h"

#include <string.h>

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE half: 5 bits of exponent, 10 of fraction. */
static float from_half(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, fraction = half & 0x3ffu;
    const uint32_t exponent = half >> 10 & 0x1fu;
    if (exponent == 0) {
        const float small = (float)fraction * 5.9604644775390625e-8f; /* 2^-24 */
        return sign != 0 ? -small : small;
    }
    const uint32_t rebased = exponent == 31 ? 255u : exponent + 112u;
    return from_bits(sign | rebased << 23 | fraction << 13);
}

/* The upper half of a float. */
static float from_brain(uint16_t brain) {
    return from_bits((uint32_t)brain << 16);
}

/* An array converter called `name`, for elements of C type `type` whose value is `value` of x. */
#define CONVERTER(name, type, value)                                                               \
    static void name(const unsigned char *data, int64_t count, real *out) {                        \
        for (int64_t i = 0; i < count; ++i) {                                                      \
            type x;                                                                                \
            memcpy(&x, data + (size_t)i * sizeof x, sizeof x);                                     \
            out[i] = (real)(value);                                                                \
        }                                                                                          \
    }
CONVERTER(convert_f64, double, x)
CONVERTER(convert_f32, float, x)
CONVERTER(convert_f16, uint16_t, from_half(x))
CONVERTER(convert_bf16, uint16_t, from_brain(x))
CONVERTER(convert_i64, int64_t, x)
CONVERTER(convert_i32, int32_t, x)
CONVERTER(convert_i16, int16_t, x)
CONVERTER(convert_i8, int8_t, x)
CONVERTER(convert_u64, uint64_t, x)
CONVERTER(convert_u32, uint32_t, x)
CONVERTER(convert_u16, uint16_t, x)
CONVERTER(convert_u8, uint8_t, x)

const lh_safetensors_type *lh_safetensors_type_find(const char *name) {
    static const lh_safetensors_type types[] = {
        {"F64", 8, convert_f64},   {"F32", 4, convert_f32}, {"F16", 2, convert_f16},
        {"BF16", 2, convert_bf16}, {"I64", 8, convert_i64}, {"I32", 4, convert_i32},
        {"I16", 2, convert_i16},   {"I8", 1, convert_i8},   {"U64", 8, convert_u64},
        {"U32", 4, convert_u32},   {"U16", 2, convert_u16}, {"U8", 1, convert_u8},
        {"BOOL", 1, convert_u8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        if (strcmp(types[i].name, name) == 0) return &types[i];
    }
    return NULL;
}
