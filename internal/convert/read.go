package convert

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxNodes limits the size of a document whose aliases are resolved.
const maxNodes = 100_000

// Parse reads a document into a tree without aliases.
func Parse(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("not an object: want apiVersion, kind and metadata")
	}
	r := resolver{}
	root, err := r.resolve(document.Content[0])
	if err != nil {
		return nil, err
	}
	root.HeadComment = appendLine(document.HeadComment, root.HeadComment)
	if root.Style&yaml.FlowStyle != 0 {
		plain(root)
	}
	return root, nil
}

// resolver replaces aliases by copies of the nodes that they refer to.
type resolver struct {
	nodes   int
	pending []*yaml.Node
}

func (r *resolver) resolve(n *yaml.Node) (*yaml.Node, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, fmt.Errorf("line %d: more than %d values, aliases resolved", n.Line, maxNodes)
	}
	if n.Kind == yaml.AliasNode {
		for _, p := range r.pending {
			if p == n.Alias {
				return nil, fmt.Errorf("line %d: the alias *%s is part of what it stands for", n.Line, n.Value)
			}
		}
		return r.resolve(n.Alias)
	}
	r.pending = append(r.pending, n)
	defer func() { r.pending = r.pending[:len(r.pending)-1] }()
	out := *n
	out.Anchor, out.Content = "", nil
	out.Tag = n.ShortTag()
	for i := 0; i < len(n.Content); i++ {
		if n.Kind == yaml.MappingNode && i%2 == 0 && n.Content[i].ShortTag() == "!!merge" {
			if err := r.merge(&out, n, n.Content[i+1]); err != nil {
				return nil, err
			}
			i++
			continue
		}
		inner, err := r.resolve(n.Content[i])
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, inner)
	}
	return &out, nil
}

// merge adds the fields of other mappings that a mapping does not have itself.
func (r *resolver) merge(into, from, merged *yaml.Node) error {
	resolved, err := r.resolve(merged)
	if err != nil {
		return err
	}
	sources := []*yaml.Node{resolved}
	if resolved.Kind == yaml.SequenceNode {
		sources = resolved.Content
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: only mappings can be merged", merged.Line)
		}
		for i := 0; i+1 < len(source.Content); i += 2 {
			if key := source.Content[i]; child(from, key.Value) == nil && child(into, key.Value) == nil {
				into.Content = append(into.Content, key, source.Content[i+1])
			}
		}
	}
	return nil
}
