-- A model outside the tree: what makes a shared object of the skeleton of a model.
local model = require("longhaul.skeletons.model").files[1][2]

return {
  says = "an architecture as a shared object, outside the tree",
  files = { { "NAME.c", model:gsub("const lh_model_class lh_model_NAME", "static const lh_model_class NAME_class") .. [==[

static const lh_model_class *const classes[] = {&NAME_class, NULL};

static const lh_plugin plugin = {
    .magic = LH_PLUGIN_MAGIC,
    .abi_major = LH_MODEL_ABI_MAJOR,
    .abi_minor = LH_MODEL_ABI_MINOR,
    .class_size = sizeof(lh_model_class),
    .classes = classes,
};

const lh_plugin *lh_plugin_get(void);
const lh_plugin *lh_plugin_get(void) {
    return &plugin;
}
]==] } },
  next = "cc -shared -fPIC -I PREFIX/include/longhaul NAME.c -o NAME.so; LONGHAUL_PLUGINS=. longhaul describe NAME",
}
