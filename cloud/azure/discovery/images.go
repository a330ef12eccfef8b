// Package discovery finds at Azure what a node class uses: the newest versions of its images.
//
// Source: Azure provider specification, version discovery.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// imagesTTL is how long versions are not asked for again. AKS publishes images about weekly.
const imagesTTL = 3 * 24 * time.Hour

// ErrSharedRequired says that the images of a class exist in shared image galleries alone, which are not used.
var ErrSharedRequired = errors.New("images that comply with FIPS exist only in shared image galleries: set USE_SIG to true, or spec.fipsMode to Disabled")

// CommunityGalleries are the galleries that anyone may read.
type CommunityGalleries interface {
	// Versions are the versions of a definition in the location of the cluster; none if there is no such definition.
	Versions(ctx context.Context, gallery, definition string) ([]image.CommunityVersion, error)
}

// SharedGalleries are the galleries in a subscription of AKS.
type SharedGalleries interface {
	// Versions are the versions of all definitions that nodes may start from.
	Versions(context.Context) ([]image.SharedVersion, error)
}

// ImageOptions are where images are read from.
type ImageOptions struct {
	// Shared is nil if community galleries are used, otherwise SharedSubscription is the subscription of the galleries.
	Shared             SharedGalleries
	SharedSubscription string
	Community          CommunityGalleries
	Clock              clock.PassiveClock
}

// Images lists the images of classes. Make one with NewImages; it is safe for concurrent use.
type Images struct {
	ImageOptions
	lists *ttlcache.Cache[string, []v1beta1.NodeImage]
}

// NewImages returns images that are read when they are asked for, and cached.
func NewImages(o ImageOptions) *Images {
	return &Images{ImageOptions: o, lists: ttlcache.New[string, []v1beta1.NodeImage](o.Clock, imagesTTL)}
}

// Of returns the newest images of a class, the most preferred first; none if AKS publishes none. The error is ErrSharedRequired if the class
// requires other galleries than those that are used. The caller must not change the result.
func (i *Images) Of(ctx context.Context, class *v1beta1.AKSNodeClass) ([]v1beta1.NodeImage, error) {
	if class.FIPS() && i.Shared == nil {
		return nil, ErrSharedRequired
	}
	version, err := class.CurrentKubernetesVersion()
	if err != nil {
		return nil, err
	}
	f, err := family.Of(class, version)
	if err != nil {
		return nil, err
	}
	definitions := f.Definitions(class.FIPS(), class.TrustedLaunch(), i.Shared != nil)
	of := key(f, definitions, version)
	out, err := i.lists.GetOrLoad(ctx, of, func(ctx context.Context) ([]v1beta1.NodeImage, error) {
		if i.Shared != nil {
			return i.shared(ctx, f, definitions)
		}
		return i.community(ctx, f, definitions)
	})
	if err == nil && len(out) == 0 {
		i.lists.Delete(of) // images that appear must not wait for the cache
	}
	return out, err
}

// key is what a list depends on.
func key(f family.Family, definitions []family.Definition, version string) string {
	parts := []string{string(f), version}
	for _, d := range definitions {
		parts = append(parts, d.Name)
	}
	return strings.Join(parts, "/")
}

func (i *Images) shared(ctx context.Context, f family.Family, definitions []family.Definition) ([]v1beta1.NodeImage, error) {
	all, err := i.Shared.Versions(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing node image versions: %w", err)
	}
	newest := map[string]string{} // by definition
	for _, v := range image.NewestShared(all) {
		if v.OS == f.Gallery().Name {
			newest[v.SKU] = v.Version
		}
	}
	return image.List(definitions, func(d family.Definition) (image.ID, bool) {
		return image.SharedID(f, i.SharedSubscription, d.Name, newest[d.Name]), newest[d.Name] != ""
	}), nil
}

func (i *Images) community(ctx context.Context, f family.Family, definitions []family.Definition) ([]v1beta1.NodeImage, error) {
	newest := map[string]string{} // by definition
	for _, d := range definitions {
		versions, err := i.Community.Versions(ctx, f.Gallery().PublicName, d.Name)
		if err != nil {
			return nil, fmt.Errorf("listing versions of image %q: %w", d.Name, err)
		}
		if version, ok := image.NewestCommunity(versions); ok {
			newest[d.Name] = version
		}
	}
	return image.List(definitions, func(d family.Definition) (image.ID, bool) {
		return image.CommunityID(f, d.Name, newest[d.Name]), newest[d.Name] != ""
	}), nil
}
