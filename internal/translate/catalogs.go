package translate

import (
	"slices"
	"sync"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
)

// maxCatalogs limits the different lists of instance types that Catalogs caches.
const maxCatalogs = 64

// Catalogs translates lists of instance types and remembers the last ones. Providers hand out the same instance types until
// something about them changes, and never change one in place, so equal pointers mean equal content; pools that get the
// same list share one catalog.
type Catalogs struct {
	translator *Translator

	mu    sync.Mutex
	known []cachedCatalog
}

type cachedCatalog struct {
	types   []*cloud.InstanceType
	catalog catalog.Catalog
}

// NewCatalogs is an empty memory on top of t.
func NewCatalogs(t *Translator) *Catalogs { return &Catalogs{translator: t} }

// Of is the catalog of types.
func (c *Catalogs) Of(types []*cloud.InstanceType) catalog.Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range c.known {
		if slices.Equal(k.types, types) {
			copy(c.known[1:i+1], c.known[:i])
			c.known[0] = k
			return k.catalog
		}
	}
	fresh := cachedCatalog{slices.Clone(types), c.translator.Catalog(types)}
	c.known = append([]cachedCatalog{fresh}, c.known[:min(len(c.known), maxCatalogs-1)]...)
	return fresh.catalog
}
