package translate

import (
	"slices"
	"sync"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
)

// maxCatalogs limits the different lists of instance types that Catalogs caches.
const maxCatalogs = 64

// Catalogs translates lists of instance types and caches the last ones. Providers return the same instance types until
// they change, and never change one in place, so equal pointers mean equal content; pools with the
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

// NewCatalogs returns an empty cache that translates with t.
func NewCatalogs(t *Translator) *Catalogs { return &Catalogs{translator: t} }

// Of returns the catalog of types.
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
