/* A model of the tree as a shared object: the same source under another name, so that a test can
 * hold both against each other. */
#define lh_model_slide outside_slide
#define lh_model_xl    outside_xl
#include "models/slide.c"

const lh_plugin *lh_plugin_get(void);
const lh_plugin *lh_plugin_get(void) {
    static lh_model_class class;
    static const lh_model_class *const classes[] = {&class, NULL};
    static const lh_plugin plugin = {.magic = LH_PLUGIN_MAGIC,
                                     .abi_major = LH_MODEL_ABI_MAJOR,
                                     .abi_minor = LH_MODEL_ABI_MINOR,
                                     .class_size = sizeof(lh_model_class),
                                     .classes = classes};
    class = outside_slide;
    class.name = "outside_slide";
    return &plugin;
}
