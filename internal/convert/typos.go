package convert

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkTypos finds names with spaces at an end, which are hard to see and never meant: keys of fields, and what names labels,
// values of labels and taints. Texts that are free, such as annotations and user data, may begin and end as they like.
func (c *conversion) checkTypos(n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, inner := n.Content[i], n.Content[i+1]
			c.checkTypo(key, join(path, key.Value))
			if isOneOf(key.Value, "annotations", "userData", "context", "tags", "status", "managedFields") {
				continue
			}
			c.checkTypos(inner, join(path, key.Value))
		}
	case yaml.SequenceNode:
		for i, inner := range n.Content {
			c.checkTypos(inner, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml.ScalarNode:
		c.checkTypo(n, path)
	}
}

// checkTypo judges one name.
func (c *conversion) checkTypo(n *yaml.Node, path string) {
	meant := strings.TrimSpace(n.Value)
	if n.Tag != "!!str" || meant == n.Value || meant == "" {
		return
	}
	end := "begins"
	if strings.HasPrefix(n.Value, meant) {
		end = "ends"
	}
	c.addFinding(value{path: path}, "column %d: %q %s with a space; probably meant: %q", n.Column, n.Value, end, meant)
}
