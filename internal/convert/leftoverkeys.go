package convert

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// leftoverKeys returns notes about objects that are not converted and still refer to an earlier API: to labels that nodes no longer
// have, and to annotations that Karpenter no longer reads.
func (i item) leftoverKeys() []string {
	var out []string
	today := renamedAnnotations()
	today["karpenter.sh/provisioner-name"] = "karpenter.sh/nodepool"
	var look func(n *yaml.Node, path string)
	look = func(n *yaml.Node, path string) {
		for j := 0; n.Kind == yaml.MappingNode && j+1 < len(n.Content); j += 2 {
			key, inner := n.Content[j], n.Content[j+1]
			here := join(path, key.Value)
			for _, name := range []string{key.Value, inner.Value} {
				if replacement, old := today[name]; old {
					out = append(out, fmt.Sprintf("%s: %s: %s: %s is called %s today; it was left as it is",
						i.document.Place(i.prefix+here), i.what(), here, name, replacement))
				}
			}
			look(inner, here)
		}
		for j := 0; n.Kind == yaml.SequenceNode && j < len(n.Content); j++ {
			look(n.Content[j], fmt.Sprintf("%s[%d]", path, j))
		}
	}
	look(i.root, "")
	return out
}
