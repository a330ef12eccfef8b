package options

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// LookupEnv returns the value of an environment variable and whether it is set; os.LookupEnv is one.
type LookupEnv func(name string) (string, bool)

// envTag is the struct tag that names the environment variable of a flag. It is not the tag of the flag library, which would read the
// environment of the process behind our back.
const envTag = "envvar"

// emptyTag is the struct tag of flags whose default is not empty although the empty text is a valid value. Their variable counts as set when
// it is empty.
const emptyTag = "emptyenv"

// Parse reads the flags in args (without program and subcommand names) and the environment, and validates the result. The error names
// the flag or variable, the value and the allowed values; several violations are joined, one a line.
//
// providers receive the settings of cloud providers; they and the default provider can be chosen.
func Parse(args []string, env LookupEnv, providers ...ProviderSettings) (Options, error) {
	out := WithProviders(providers...)
	parser, err := kong.New(&out, append(Kong(env, namesOf(providers)...), kong.Name("karpenter"), kong.NoDefaultHelp())...)
	if err != nil {
		return Options{}, fmt.Errorf("building the flag parser: %w", err)
	}
	if _, err := parser.Parse(args); err != nil {
		return Options{}, Explain(err)
	}
	out.complete()
	return out, out.Validate()
}

// Default returns the options of a start without flags and environment.
func Default(providers ...ProviderSettings) Options {
	out, err := Parse(nil, func(string) (string, bool) { return "", false }, providers...)
	if err != nil {
		panic(fmt.Sprintf("the built-in defaults are invalid: %v", err))
	}
	return out
}

// Kong returns the settings that a command line parser needs when Options is part of its grammar: how values are read, where the
// environment comes from and how help shows it. providers are the cloud providers that can be chosen.
func Kong(env LookupEnv, providers ...CloudProvider) []kong.Option {
	names := make([]string, 0, len(providers))
	for _, p := range providers {
		names = append(names, string(p))
	}
	out := []kong.Option{
		kong.Vars{"feature_gates": DefaultFeatureGates().String(), "cloud_providers": strings.Join(names, ", ")},
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 132, NoExpandSubcommands: true}),
		kong.ValueFormatter(formatHelp),
		kong.Resolvers(environment(env)),
	}
	return append(out, mappers(providers)...)
}

// Explain removes the text that the flag library adds to a ValueError; other errors are returned as they are.
func Explain(err error) error {
	var value *ValueError
	if errors.As(err, &value) {
		return value
	}
	return err
}

// AfterApply completes and validates options that were parsed as part of a larger command line.
func (o *Options) AfterApply() error {
	o.complete()
	return o.Validate()
}

// complete replaces values that select a default.
func (o *Options) complete() {
	if o.Process.CPURequests <= 0 {
		o.Process.CPURequests = 1000
	}
	if o.Log.Level == "" {
		o.Log.Level = LogLevelInfo
	}
}

// environment resolves flags that are absent from the command line. The value is decoded here once, only to be able to name the
// variable in the error.
func environment(env LookupEnv) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get(envTag)
		if name == "" {
			return nil, nil
		}
		text, ok := env(name)
		if !ok || text == "" && !flag.Tag.Has(emptyTag) {
			return nil, nil
		}
		var value any = text
		if flag.IsBool() {
			on, err := parseBool(text)
			if err != nil {
				return nil, &ValueError{Flag: flag.Name, Env: name, Value: text, Reason: err.Error()}
			}
			value = on
		}
		scratch := reflect.New(flag.Target.Type()).Elem()
		scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
		if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, scratch); err != nil {
			var bad *ValueError
			if errors.As(err, &bad) {
				bad.Env = name
			}
			return nil, err
		}
		return value, nil
	})
}

// formatHelp appends the environment variable to the help of a flag.
func formatHelp(value *kong.Value) string {
	if value.Tag == nil || !value.Tag.Has(envTag) {
		return value.Help
	}
	return value.Help + " [$" + value.Tag.Get(envTag) + "]"
}
