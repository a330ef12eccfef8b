package main

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
)

const (
	// fabricModule carries a table of the types with fabric adapters (EFA), as EC2 reports it. It is read as a file, not linked.
	fabricModule  = "github.com/weaveworks/eksctl"
	fabricVersion = "v0.215.0"
	fabricFile    = "pkg/utils/instance/instance_types.go"
)

// fabric tells by name of a type whether it supports fabric adapters.
type fabric map[string]bool

// readFabric downloads the module and reads the table out of its source text.
func readFabric() (fabric, error) {
	return readTable(fabricModule, fabricVersion, fabricFile, parseFabric)
}

// parseFabric reads the literal of the variable InstanceTypes.
func parseFabric(file *ast.File) (fabric, error) {
	literal, err := variable(file, "InstanceTypes")
	if err != nil {
		return nil, err
	}
	table := fabric{}
	for _, element := range literal.Elts {
		var name string
		var supported bool
		for _, field := range element.(*ast.CompositeLit).Elts {
			pair, ok := field.(*ast.KeyValueExpr)
			if !ok {
				return nil, fmt.Errorf("a field without name after type %q", name)
			}
			switch pair.Key.(*ast.Ident).Name {
			case "InstanceType":
				if name, err = strconv.Unquote(pair.Value.(*ast.BasicLit).Value); err != nil {
					return nil, fmt.Errorf("name of a type: %w", err)
				}
			case "EFASupported":
				supported = pair.Value.(*ast.Ident).Name == "true"
			}
		}
		table[name] = supported
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("there are no types")
	}
	return table, nil
}

// unknownAdapters is the number of adapters of a type that has some, while no data set says how many.
const unknownAdapters = "1+"

// adapters counts the fabric adapters of a type: one for each of its network cards; a dash if it has none.
func (f fabric) adapters(name string, cards int) string {
	switch {
	case !f.supported(name):
		return number(0)
	case cards == 0:
		return unknownAdapters
	}
	return number(float64(cards))
}

// supported reports whether a type has fabric adapters. The table has no bare metal: c7i.metal-48xl is as c7i.48xlarge, and c7g.metal
// as the largest size of its family.
func (f fabric) supported(name string) bool {
	if supported, ok := f[name]; ok {
		return supported
	}
	family, size, _ := strings.Cut(name, ".")
	if cut, ok := strings.CutPrefix(size, "metal-"); ok {
		return f[family+"."+cut+"arge"]
	}
	if size != "metal" {
		return false
	}
	for other, supported := range f {
		if supported && strings.HasPrefix(other, family+".") {
			return true
		}
	}
	return false
}
