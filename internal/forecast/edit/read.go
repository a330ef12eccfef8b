package edit

import (
	"bytes"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// Read reads the manifests of an edit of objects that a user has typed. An error is one of the text.
func Read(reader *manifest.Reader, objects []client.Object, text []byte) (manifest.Manifest, error) {
	edited, err := reader.Updating(objects).Read("edit", bytes.NewReader(text))
	if err == nil && len(edited.Objects) == 0 {
		err = errors.New("the manifests hold no objects that have a bearing on nodes: paste NodePools, node classes or workloads as YAML")
	}
	return edited, err
}
