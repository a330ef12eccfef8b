package explain

import (
	"errors"
	"fmt"
	"strings"
)

// objectKind is a kind of objects that can be explained, as the command line names it.
type objectKind string

// The kinds.
const (
	kindPod       objectKind = "pod"
	kindNode      objectKind = "node"
	kindNodeClaim objectKind = "nodeclaim"
	kindNodePool  objectKind = "nodepool"
)

// objectName is an argument of explain. A list of plain strings would be one argument with commas.
type objectName string

// namedObject is one object to explain.
type namedObject struct {
	kind objectKind
	name string
}

// kindNamed is the kind of a name, plural or short name, in upper or lower case, also with the API group.
func kindNamed(word string) (objectKind, error) {
	word = strings.TrimSuffix(strings.ToLower(word), ".karpenter.sh")
	var known []string
	for _, k := range []struct {
		kind  objectKind
		short string
	}{{kindPod, "po"}, {kindNode, "no"}, {kindNodeClaim, "nc"}, {kindNodePool, "np"}} {
		if word == string(k.kind) || word == string(k.kind)+"s" || word == k.short {
			return k.kind, nil
		}
		known = append(known, string(k.kind))
	}
	return "", fmt.Errorf("unknown kind %q: use %s", word, strings.Join(known, ", "))
}

// objectsNamed reads the arguments of explain: names of a kind or, if the kind is empty, KIND/NAME for each object or KIND and names.
func objectsNamed(kind objectKind, args []objectName) ([]namedObject, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = string(arg)
	}
	if len(words) == 0 {
		return nil, errors.New("expected an object: name it as in pod NAME or pod/NAME")
	}
	var err error
	if kind == "" && !strings.Contains(words[0], "/") {
		if kind, err = kindNamed(words[0]); err != nil {
			return nil, err
		}
		if words = words[1:]; len(words) == 0 {
			return nil, fmt.Errorf("expected the name of a %s", kind)
		}
	}
	out := make([]namedObject, 0, len(words))
	for _, word := range words {
		of, name, hasKind := strings.Cut(word, "/")
		switch {
		case kind == "" && !hasKind:
			return nil, fmt.Errorf("%q has no kind: name all objects as in pod/NAME, or give one kind and the names", word)
		case kind != "" && hasKind:
			return nil, fmt.Errorf("the kind is given already: %q must be a name only", word)
		case hasKind && name == "":
			return nil, fmt.Errorf("%q has no name: name objects as in pod/NAME", word)
		case kind != "":
			out = append(out, namedObject{kind, word})
			continue
		}
		each, err := kindNamed(of)
		if err != nil {
			return nil, err
		}
		out = append(out, namedObject{each, name})
	}
	return out, nil
}
