// Package publish pushes images and charts to a registry, and signatures beside them as cosign stores them. Credentials are those of
// `docker login`.
package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/karpenter-anew/karpenter/tools/release/signature"
)

// The media types of Helm.
const (
	chartConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// simpleSigning is the media type of what cosign signs.
const simpleSigning types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"

// signatureAnnotation is where cosign looks for the signature of a layer.
const signatureAnnotation = "dev.cosignproject.cosign/signature"

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// Index pushes an index with its images, and returns its digest.
func Index(ctx context.Context, index v1.ImageIndex, reference string) (name.Digest, error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return name.Digest{}, err
	}
	if err := remote.WriteIndex(tag, index, options(ctx)...); err != nil {
		return name.Digest{}, fmt.Errorf("pushing %s: %w", tag, err)
	}
	digest, err := index.Digest()
	return tag.Context().Digest(digest.String()), err
}

// manifest is a manifest whose blobs are in the registry already.
type manifest []byte

// RawManifest returns the manifest.
func (m manifest) RawManifest() ([]byte, error) { return m, nil }

// MediaType is that of manifests of OCI.
func (manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// Chart pushes a chart as an artifact that Helm installs from oci://, and returns its digest. Metadata is Chart.yaml.
func Chart(ctx context.Context, archive []byte, metadata map[string]any, reference string) (name.Digest, error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return name.Digest{}, err
	}
	config, err := json.Marshal(metadata)
	if err != nil {
		return name.Digest{}, err
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: annotations(metadata)}
	if m.Config, err = blob(ctx, tag.Context(), config, chartConfig); err != nil {
		return name.Digest{}, err
	}
	layer, err := blob(ctx, tag.Context(), archive, chartContent)
	if err != nil {
		return name.Digest{}, err
	}
	m.Layers = []v1.Descriptor{layer}
	text, err := json.Marshal(m)
	if err != nil {
		return name.Digest{}, err
	}
	if err := remote.Put(tag, manifest(text), options(ctx)...); err != nil {
		return name.Digest{}, fmt.Errorf("pushing %s: %w", tag, err)
	}
	digest, _, err := v1.SHA256(bytes.NewReader(text))
	return tag.Context().Digest(digest.String()), err
}

// blob uploads a content and returns its descriptor.
func blob(ctx context.Context, to name.Repository, content []byte, kind types.MediaType) (v1.Descriptor, error) {
	layer := static.NewLayer(content, kind)
	if err := remote.WriteLayer(to, layer, options(ctx)...); err != nil {
		return v1.Descriptor{}, fmt.Errorf("pushing to %s: %w", to, err)
	}
	digest, err := layer.Digest()
	return v1.Descriptor{MediaType: kind, Size: int64(len(content)), Digest: digest}, err
}

// annotations are those of OCI that Helm derives from Chart.yaml.
func annotations(metadata map[string]any) map[string]string {
	out := map[string]string{}
	for key, field := range map[string]string{"title": "name", "version": "version", "description": "description", "url": "home"} {
		if text, ok := metadata[field].(string); ok && text != "" {
			out["org.opencontainers.image."+key] = text
		}
	}
	return out
}

// payload is what cosign signs of an image or artifact.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]any `json:"optional"`
}

// Signature signs what was pushed and pushes the signature, as an image with the tag sha256-DIGEST.sig in the same repository.
func Signature(ctx context.Context, key signature.Key, signed name.Digest) error {
	var p payload
	p.Critical.Identity.Reference, p.Critical.Image.Digest = signed.Context().Name(), signed.DigestStr()
	p.Critical.Type = "cosign container image signature"
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	text, err := key.Detached(content)
	if err != nil {
		return err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.Append(img, mutate.Addendum{
		Layer: static.NewLayer(content, simpleSigning), Annotations: map[string]string{signatureAnnotation: text},
	}); err != nil {
		return err
	}
	tag := signed.Context().Tag(strings.Replace(signed.DigestStr(), ":", "-", 1) + ".sig")
	if err := remote.Write(tag, img, options(ctx)...); err != nil {
		return fmt.Errorf("pushing %s: %w", tag, err)
	}
	return nil
}
