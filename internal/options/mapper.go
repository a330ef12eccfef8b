package options

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// mappers returns how the text of each type of flag becomes a value. They exist, although the flag library has its own, so that every
// error lists the allowed values in the same form.
func mappers(providers []CloudProvider) []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.Bool, boolMapper{}),
		kong.KindMapper(reflect.Int, textMapper(strconv.Atoi, "a whole number")),
		kong.KindMapper(reflect.Int64, textMapper(parseInt64, "a whole number")),
		kong.KindMapper(reflect.Float64, textMapper(parseFloat, "a number such as 0.075")),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), textMapper(time.ParseDuration, "a duration such as 500ms, 10s or 2m, at most 2562047h")),
		kong.TypeMapper(reflect.TypeFor[Bytes](), textMapper(parseBytes, "a number of bytes such as 64Mi or 1Gi")),
		kong.TypeMapper(reflect.TypeFor[[]string](), textMapper(parseList, "")),
		kong.TypeMapper(reflect.TypeFor[FeatureGates](), textMapper(ParseFeatureGates, "")),
		kong.TypeMapper(reflect.TypeFor[SchedulerConfig](), textMapper(ParseSchedulerConfig, "")),
		kong.TypeMapper(reflect.TypeFor[ConsolidateAfterScope](), textMapper(oneOf(ConsolidateAfterSource, ConsolidateAfterSourceAndDestination), "")),
		kong.TypeMapper(reflect.TypeFor[NotificationFormat](), textMapper(oneOf(NotificationJSON, NotificationSlack), "")),
		kong.TypeMapper(reflect.TypeFor[NotificationEvents](), textMapper(parseNotificationEvents, "")),
		kong.TypeMapper(reflect.TypeFor[PodGroupPolicy](), textMapper(oneOf(PodGroupsAuto, PodGroupsIgnore), "")),
		kong.TypeMapper(reflect.TypeFor[PreferencePolicy](), textMapper(oneOf(PreferenceRespect, PreferenceEconomical, PreferenceIgnore), "")),
		kong.TypeMapper(reflect.TypeFor[MinValuesPolicy](), textMapper(oneOf(MinValuesStrict, MinValuesBestEffort), "")),
		kong.TypeMapper(reflect.TypeFor[LogLevel](), textMapper(parseLogLevel, "")),
		kong.TypeMapper(reflect.TypeFor[CloudProvider](), textMapper(oneOf(providers...), "")),
	}
}

// parseFloat reads a number that is one.
func parseFloat(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, err
}

// textMapper decodes with parse. Unless allowed is empty, the error of parse is replaced by a sentence with the allowed values.
func textMapper[T any](parse func(string) (T, error), allowed string) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto(ctx.Value.Name, &text); err != nil {
			return err
		}
		value, err := parse(text)
		if err != nil {
			reason := err.Error()
			if allowed != "" {
				reason = "must be " + allowed
			}
			if errors.Is(err, strconv.ErrRange) {
				reason += " that fits in 64 bits"
			}
			return &ValueError{Flag: ctx.Value.Name, Value: text, Reason: reason}
		}
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
		return nil
	})
}

// boolMapper reads a flag that is true when bare and otherwise takes exactly true or false.
type boolMapper struct{}

// IsBool reports to the flag library that the flag takes no separate argument.
func (boolMapper) IsBool() bool { return true }

// Decode implements kong.Mapper.
func (boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	switch value := ctx.Scan.Pop().Value.(type) {
	case bool:
		target.SetBool(value)
	case string:
		if value != "true" && value != "false" {
			return &ValueError{Flag: ctx.Value.Name, Value: value, Reason: "must be true or false"}
		}
		target.SetBool(value == "true")
	default:
		return fmt.Errorf("flag --%s: cannot read a boolean from %v", ctx.Value.Name, value)
	}
	return nil
}

// parseBool reads the boolean of an environment variable, in any Go spelling.
func parseBool(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("must be true or false (also 1, 0, t, f, TRUE, FALSE)")
	}
	return on, nil
}

func parseInt64(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func parseLogLevel(text string) (LogLevel, error) {
	if text == "" {
		return "", nil
	}
	return oneOf(LogLevelDebug, LogLevelInfo, LogLevelError)(text)
}

// parseList splits at commas and trims; an empty element is an error because it would name no file.
func parseList(text string) ([]string, error) {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
		if parts[i] == "" {
			return nil, errors.New("must be stdout, stderr or file names, separated by commas, none of them empty")
		}
	}
	return parts, nil
}

// oneOf returns a parser of a closed set of words.
func oneOf[T ~string](allowed ...T) func(string) (T, error) {
	return func(text string) (T, error) {
		words := make([]string, len(allowed))
		for i, word := range allowed {
			if text == string(word) {
				return word, nil
			}
			words[i] = string(word)
		}
		return "", fmt.Errorf("allowed: %s", strings.Join(words, ", "))
	}
}
