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

// once computes what depends on a part of a definition alone, unless it is known.
func once[T any](what string, part any, compute func() T) T {
	raw, err := json.Marshal(part)
	if err != nil {
		return compute()
	}
	key := fmt.Sprintf("%s %x", what, sha256.Sum256(raw))
	if known, ok := compiled.Get(key); ok {
		return known.(T)
	}
	result := compute()
	compiled.Add(key, result)
	return result
}

// FromDefinition returns the kinds that a CustomResourceDefinition serves, one for each served version. They are shared, and must not be changed.
func FromDefinition(definition *apiextensionsv1.CustomResourceDefinition) ([]*Kind, error) {
	c := once("kinds of "+definition.Name, definition.Spec, func() compilation {
		kinds, err := compileVersions(definition.DeepCopy())
		return compilation{kinds, err}
	})
	return c.kinds, c.err
}

// validateSchema: the schema is structural, and its rules compile.
func validateSchema(props *apiextensionsv1.JSONSchemaProps, path *field.Path) field.ErrorList {
	return once("problems at "+path.String(), props, func() field.ErrorList { return schemaProblems(props, path) })
}
