package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

const (
	// limitsModule carries the limits of network interfaces that no EC2 API returns. It is read as a file, not linked.
	limitsModule  = "github.com/aws/amazon-vpc-resource-controller-k8s"
	limitsVersion = "v1.8.2"
	limitsFile    = "pkg/aws/vpc/limits.go"
)

// limits are the network limits of one instance type.
type limits struct {
	interfaces, addresses, branches int64
	trunking                        bool
	cards                           []int64 // interfaces of each network card, by its index
}

// line is the format in which the product reads limits: a dash stands for an unknown one.
func (l limits) line(name, bandwidth string) string {
	branches := "-"
	if l.trunking {
		branches = strconv.FormatInt(l.branches, 10)
	}
	return fmt.Sprintf("%s %d %d %s %s\n", name, l.interfaces, l.addresses, branches, bandwidth)
}

// encodeLimits writes a header with the origin of the data, then one type per line, sorted by name.
func encodeLimits(src source, instances []instance, table map[string]limits) []byte {
	bandwidths := map[string]string{}
	for _, in := range instances {
		bandwidths[in.Type] = bandwidth(in.NetworkPerformance)
		if _, ok := table[in.Type]; !ok && bandwidths[in.Type] != "-" {
			table[in.Type] = limits{}
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by tools/ec2catalog -limits. DO NOT EDIT.\n# Interfaces: %s %s. Bandwidth: %s %s.\n", limitsModule, limitsVersion, src.path, src.version)
	b.WriteString("# name, interfaces, IPv4 addresses an interface, branch interfaces (- if none can be had), Mbps (- if not told exactly)\n")
	for _, name := range slices.Sorted(maps.Keys(table)) {
		speed := bandwidths[name]
		if speed == "" {
			speed = "-"
		}
		b.WriteString(table[name].line(name, speed))
	}
	return b.Bytes()
}

// exactBandwidth matches guaranteed bandwidth: "50 Gigabit", "4x 100 Gigabit", but not "Up to 10 Gigabit".
var exactBandwidth = regexp.MustCompile(`^(?:(\d+)x )?(\d+(?:\.\d+)?) Gigabit$`)

// bandwidth is the baseline in Mbps, or a dash.
func bandwidth(performance string) string {
	m := exactBandwidth.FindStringSubmatch(performance)
	if m == nil {
		return "-"
	}
	speed, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return "-"
	}
	if m[1] != "" {
		cards, err := strconv.Atoi(m[1])
		if err != nil {
			return "-"
		}
		speed *= float64(cards)
	}
	return strconv.FormatFloat(speed*1000, 'f', 0, 64)
}

// readLimits downloads the module and reads the table out of its source text.
func readLimits() (map[string]limits, error) {
	return readTable(limitsModule, limitsVersion, limitsFile, parseLimits)
}

// readTable downloads a module and reads a table out of the source text of one of its files.
func readTable[T any](module, version, file string, parse func(*ast.File) (T, error)) (T, error) {
	var none T
	out, err := exec.Command("go", "mod", "download", "-json", module+"@"+version).Output()
	if err != nil {
		return none, fmt.Errorf("downloading module %s@%s: %w: %s", module, version, err, out)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return none, fmt.Errorf("locating module %s: %w", module, err)
	}
	path := filepath.Join(downloaded.Dir, filepath.FromSlash(file))
	syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return none, fmt.Errorf("parsing %s: %w", path, err)
	}
	table, err := parse(syntax)
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", path, err)
	}
	return table, nil
}

// parseLimits reads the literal of the variable Limits.
func parseLimits(file *ast.File) (map[string]limits, error) {
	table := map[string]limits{}
	literal, err := variable(file, "Limits")
	if err != nil {
		return nil, err
	}
	for _, element := range literal.Elts {
		pair := element.(*ast.KeyValueExpr)
		name, err := strconv.Unquote(pair.Key.(*ast.BasicLit).Value)
		if err != nil {
			return nil, fmt.Errorf("name of a type: %w", err)
		}
		if table[name], err = parseLimit(pair.Value.(*ast.CompositeLit)); err != nil {
			return nil, fmt.Errorf("type %q: %w", name, err)
		}
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("there are no limits")
	}
	return table, nil
}

// variable finds the literal that a variable of a file is initialized with.
func variable(file *ast.File, name string) (*ast.CompositeLit, error) {
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok || len(value.Values) != 1 || value.Names[0].Name != name {
				continue
			}
			if literal, ok := value.Values[0].(*ast.CompositeLit); ok {
				return literal, nil
			}
			return nil, fmt.Errorf("variable %s is not a literal", name)
		}
	}
	return nil, fmt.Errorf("there is no variable %s", name)
}

// parseLimit reads the fields of one type.
func parseLimit(literal *ast.CompositeLit) (limits, error) {
	var l limits
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return l, fmt.Errorf("a field without name")
		}
		numbers := map[string]*int64{"Interface": &l.interfaces, "IPv4PerInterface": &l.addresses, "BranchInterface": &l.branches}
		switch name := pair.Key.(*ast.Ident).Name; {
		case numbers[name] != nil:
			n, err := strconv.ParseInt(pair.Value.(*ast.BasicLit).Value, 10, 64)
			if err != nil {
				return l, fmt.Errorf("field %s: %w", name, err)
			}
			*numbers[name] = n
		case name == "IsTrunkingCompatible":
			l.trunking = pair.Value.(*ast.Ident).Name == "true"
		case name == "NetworkCards":
			cards, err := parseCards(pair.Value.(*ast.CompositeLit))
			if err != nil {
				return l, err
			}
			l.cards = cards
		}
	}
	return l, nil
}

// parseCards reads the maximum number of interfaces of each network card. Cards are listed in order of their indexes.
func parseCards(literal *ast.CompositeLit) ([]int64, error) {
	var cards []int64
	for at, element := range literal.Elts {
		var interfaces, index int64
		for _, field := range element.(*ast.CompositeLit).Elts {
			pair, ok := field.(*ast.KeyValueExpr)
			if !ok {
				return nil, fmt.Errorf("a field of card %d without name", at)
			}
			n, err := strconv.ParseInt(pair.Value.(*ast.BasicLit).Value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("card %d: %w", at, err)
			}
			switch pair.Key.(*ast.Ident).Name {
			case "MaximumNetworkInterfaces":
				interfaces = n
			case "NetworkCardIndex":
				index = n
			}
		}
		if index != int64(at) {
			return nil, fmt.Errorf("card %d has index %d", at, index)
		}
		cards = append(cards, interfaces)
	}
	return cards, nil
}
