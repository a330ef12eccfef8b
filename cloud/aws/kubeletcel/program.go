// Package kubeletcel evaluates kubelet settings that are written as CEL expressions: the number of pods and the reserved
// resources, for each instance type.
//
// Source: AWS provider specification, kubelet expressions.
package kubeletcel

import (
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// costLimit limits the cost of one evaluation; a typical formula costs less than 100.
const costLimit = 100_000

// maxDepth and maxSize limit the nesting of an expression, and its characters. The time to check the types of nested maps grows with the fourth power
// of their depth: 240 of them, which the language admits by default, take half a minute.
const maxDepth, maxSize = 64, 4096

// Variables are the variables of an expression.
type Variables struct {
	// VCPUs is the default number.
	VCPUs int64
	// MemoryMiB is the memory that EC2 reports, without deductions.
	MemoryMiB int64
	// DefaultENIs is how many interfaces the first network card supports, and IPsPerENI how many IPv4 addresses each has; 0 when
	// unknown.
	DefaultENIs, IPsPerENI int64
	// MaxPods is the number of pods; in the expression for that number, the default.
	MaxPods      int64
	InstanceType string
}

// program is a compiled expression.
type program struct {
	text     string
	compiled cel.Program
}

// environment is the CEL environment: the variables, and min and max of two numbers.
func environment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.ParserRecursionLimit(maxDepth), cel.ParserExpressionSizeLimit(maxSize),
		cel.Variable("vcpus", cel.IntType), cel.Variable("memory_mib", cel.IntType), cel.Variable("default_enis", cel.IntType),
		cel.Variable("ips_per_eni", cel.IntType), cel.Variable("max_pods", cel.IntType), cel.Variable("instance_type", cel.StringType),
		extremum("min", func(a, b float64) bool { return a < b }, func(a, b int64) bool { return a < b }),
		extremum("max", func(a, b float64) bool { return a > b }, func(a, b int64) bool { return a > b }),
	)
}

// extremum is a function of two numbers: of two integers it is an integer, otherwise a double.
func extremum(name string, doubles func(a, b float64) bool, ints func(a, b int64) bool) cel.EnvOption {
	var overloads []cel.FunctionOpt
	for _, o := range []struct {
		suffix       string
		a, b, result *cel.Type
	}{
		{"int_int", cel.IntType, cel.IntType, cel.IntType},
		{"int_double", cel.IntType, cel.DoubleType, cel.DoubleType},
		{"double_int", cel.DoubleType, cel.IntType, cel.DoubleType},
		{"double_double", cel.DoubleType, cel.DoubleType, cel.DoubleType},
	} {
		overloads = append(overloads, cel.Overload(name+"_"+o.suffix, []*cel.Type{o.a, o.b}, o.result, cel.BinaryBinding(func(a, b ref.Val) ref.Val {
			if a, ok := a.(types.Int); ok {
				if b, ok := b.(types.Int); ok {
					if ints(int64(a), int64(b)) {
						return a
					}
					return b
				}
			}
			x, y := float(a), float(b)
			if math.IsNaN(x) || doubles(x, y) {
				return types.Double(x)
			}
			return types.Double(y)
		})))
	}
	return cel.Function(name, overloads...)
}

// float is a number as a double.
func float(v ref.Val) float64 {
	if n, ok := v.(types.Int); ok {
		return float64(n)
	}
	n, _ := v.(types.Double)
	return float64(n)
}

// compile checks an expression: its type must be a number, as far as types are known.
func compile(env *cel.Env, text string) (*program, error) {
	checked, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("compiling %q: %w", text, err)
	}
	if out := checked.OutputType(); !out.IsExactType(cel.IntType) && !out.IsExactType(cel.DoubleType) {
		return nil, fmt.Errorf("compiling %q: the result is a %s, and has to be an int or a double", text, out)
	}
	compiled, err := env.Program(checked, cel.CostLimit(costLimit))
	if err != nil {
		return nil, fmt.Errorf("compiling %q: %w", text, err)
	}
	return &program{text, compiled}, nil
}

// evaluate returns the value for an instance type; doubles are truncated to integers.
func (p *program) evaluate(v Variables) (int64, error) {
	value, _, err := p.compiled.Eval(map[string]any{
		"vcpus": v.VCPUs, "memory_mib": v.MemoryMiB, "default_enis": v.DefaultENIs, "ips_per_eni": v.IPsPerENI,
		"max_pods": v.MaxPods, "instance_type": v.InstanceType,
	})
	if err != nil {
		return 0, fmt.Errorf("evaluating %q for %s: %w", p.text, v.InstanceType, err)
	}
	switch n := value.(type) {
	case types.Int:
		return int64(n), nil
	case types.Double:
		// The largest int64 is no double; the next one up is out of range.
		if whole := math.Trunc(float64(n)); whole >= math.MinInt64 && whole < math.MaxInt64 {
			return int64(whole), nil
		}
	}
	return 0, fmt.Errorf("evaluating %q for %s: %v is not a number that can be used", p.text, v.InstanceType, value)
}
