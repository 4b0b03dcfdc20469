#include "scene/loader.h"
bool own_read(Loader *loader, const Node *top) { return settings_read(loader->scene, top); }
