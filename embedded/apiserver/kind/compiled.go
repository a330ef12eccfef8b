package kind

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"
)

// compiled keeps what definitions compile to, for those that were used last. A server compiles a definition to validate it and to serve it, and a
// simulation starts thousands of servers with the same definitions; their CEL rules are most of what a start takes.
// What is compiled depends on the definition alone, and is not changed afterwards: servers share it.
var compiled = lru.New(64) //nolint:gochecknoglobals // what a definition compiles to never changes

// compilation is the result for one definition.
type compilation struct {
	kinds []*Kind
	err   error
}

// keyOf identifies what is compiled from a part of a definition. The second result is false if the part cannot be encoded; then nothing is kept.
func keyOf(what string, part any) (string, bool) {
	raw, err := json.Marshal(part)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%s %x", what, sha256.Sum256(raw)), true
}

// FromDefinition returns the kinds that a CustomResourceDefinition serves, one for each served version. They are shared, and must not be changed.
func FromDefinition(definition *apiextensionsv1.CustomResourceDefinition) ([]*Kind, error) {
	key, ok := keyOf("kinds of "+definition.Name, definition.Spec)
	if ok {
		if c, found := compiled.Get(key); found {
			return c.(compilation).kinds, c.(compilation).err
		}
	}
	kinds, err := compileVersions(definition.DeepCopy())
	if ok {
		compiled.Add(key, compilation{kinds, err})
	}
	return kinds, err
}

// validateSchema: the schema is structural, and its rules compile.
func validateSchema(props *apiextensionsv1.JSONSchemaProps, path *field.Path) field.ErrorList {
	key, ok := keyOf("problems at "+path.String(), props)
	if ok {
		if errs, found := compiled.Get(key); found {
			return errs.(field.ErrorList)
		}
	}
	errs := schemaProblems(props, path)
	if ok {
		compiled.Add(key, errs)
	}
	return errs
}
