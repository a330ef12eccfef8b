// Package krew writes the manifest of a kubectl plugin for krew.
package krew

import (
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/tools/release/license"
	"github.com/karpenter-anew/karpenter/tools/release/program"
	"github.com/karpenter-anew/karpenter/tools/release/source"
)

// Download is the archive for one platform.
type Download struct {
	Platform program.Platform
	// Address is where it can be downloaded, SHA256 its digest in hexadecimal, Folder the folder in it that contains everything.
	Address, SHA256, Folder string
}

type manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type spec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Platforms        []platform `json:"platforms"`
}

type platform struct {
	Selector selector    `json:"selector"`
	URI      string      `json:"uri"`
	SHA256   string      `json:"sha256"`
	Files    []operation `json:"files"`
	Bin      string      `json:"bin"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type operation struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const description = `Shows why a pod is pending, why a node is kept, and which nodes Karpenter would
launch for manifests, with their price. Reads the cluster of the current context;
"kubectl karpenter simulate" and "kubectl karpenter demo" need no cluster.
`

// Manifest returns the manifest of the plugin.
func Manifest(name, version string, downloads []Download) ([]byte, error) {
	m := manifest{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: metadata{name}, Spec: spec{
		Version: "v" + version, Homepage: source.Home, ShortDescription: "Explain and simulate Karpenter's decisions", Description: description,
	}}
	for _, d := range downloads {
		m.Spec.Platforms = append(m.Spec.Platforms, platform{
			Selector: selector{map[string]string{"os": d.Platform.OS, "arch": d.Platform.Architecture}},
			URI:      d.Address, SHA256: strings.ToLower(d.SHA256), Bin: name,
			Files: []operation{{d.Folder + "/" + name, "."}, {d.Folder + "/LICENSE", "."}, {d.Folder + "/" + license.NoticesFile, "."}},
		})
	}
	return yaml.Marshal(m)
}
