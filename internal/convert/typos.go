package convert

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkTypos finds names with leading or trailing spaces, which are hard to see and always mistakes: keys of fields, and names and
// values of labels and taints. Free texts, such as annotations and user data, are not checked.
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

// checkTypo checks one name.
func (c *conversion) checkTypo(n *yaml.Node, path string) {
	meant := strings.TrimSpace(n.Value)
	if n.Tag != "!!str" || meant == n.Value || meant == "" {
		return
	}
	end := "begins"
	if strings.HasPrefix(n.Value, meant) {
		end = "ends"
	}
	c.addFinding(value{path: path}, "%q %s with a space; probably meant: %q", n.Value, end, meant)
}
