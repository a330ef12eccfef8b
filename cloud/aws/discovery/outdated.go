package discovery

import (
	"context"
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// ForgetOutdated forgets where parameters lead that change with time, if that is an image which is deprecated by now, or gone: there
// must be a newer one. All images are asked for at once; parameters that never change keep what they lead to.
//
// Source: AWS provider specification, SSM invalidation.
func (f *Finder) ForgetOutdated(ctx context.Context) error {
	paths := map[string][]string{} // by image; several parameters may lead to one
	for path, p := range f.aliases.All() {
		if p.mutable && p.imageID != "" {
			paths[p.imageID] = append(paths[p.imageID], path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	found, err := f.listImages(ctx, []image.Query{image.ByID(slices.Sorted(maps.Keys(paths)))})
	if err != nil {
		return err
	}
	now := f.Clock.Now()
	for _, i := range found {
		if i.Deprecated.IsZero() || i.Deprecated.After(now) {
			delete(paths, i.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(paths)) {
		for _, path := range slices.Sorted(slices.Values(paths[id])) {
			f.aliases.Delete(path)
			observe.Log(ctx).DebugContext(ctx, "removed an SSM parameter of an outdated image from the cache", awsfield.Parameter(path), awsfield.Image(id))
		}
	}
	return nil
}
