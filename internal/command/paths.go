package command

import (
	"slices"

	"github.com/alecthomas/kong"
)

// Repeated is a flag that can be given several times, each with one value: a comma is part of it.
type Repeated []string

// Decode implements kong.MapperValue.
func (p *Repeated) Decode(ctx *kong.DecodeContext) error {
	var path string
	if err := ctx.Scan.PopValueInto(ctx.Value.Name, &path); err != nil {
		return err
	}
	*p = append(*p, path)
	return nil
}

// PathArg is one of several paths without a flag. A list of plain strings would be one argument with commas.
type PathArg string

// Paths are the paths of flags and those of arguments.
func Paths(flags Repeated, args []PathArg) []string {
	out := slices.Clone([]string(flags))
	for _, arg := range args {
		out = append(out, string(arg))
	}
	return out
}
