// Package quantity reads quantities that the API server has not read before: those of custom resources, of files and of answers.
//
// The API server reads the quantities of built-in kinds, and stores them in a form that is cheap to read again. Of custom resources it only
// compares the text with a pattern. That which is usual admits any exponent and any number of digits, and the time that resource.ParseQuantity
// and comparisons take grows with both: 1e-10000000 takes seconds, nine digits of an exponent take hours, and a megabyte of nines takes ten
// seconds at each read.
package quantity

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Pattern admits what [Parse] reads, in the syntax of definitions: up to 30 digits before the point and after it, and an exponent of two digits.
// What it admits is admitted again once Kubernetes has rewritten it, as 1000e99 to 1e102, and 9.9e98 to 990e96: hence its last two
// alternatives, integers with a suffix or with an exponent that is a multiple of three.
const Pattern = `^(\+|-)?((([0-9]{1,30}(\.[0-9]{0,30})?)|(\.[0-9]{1,30}))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?` +
	`|[0-9]{1,63}[numkMGTPE]?` +
	`|[0-9]{0,60}[1-9]0{0,2}e(-?[369]|[147][258]|[258][147]|[369][0369]|1(0[258]|1[147]|2[0369])))$`

// Usual is the pattern that controller-gen gives to quantities.
const Usual = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// maxExponent is the largest exponent of ten, in both directions.
const maxExponent = 129

// maxLength is the number of bytes that a quantity may have, all in all.
const maxLength = 128

// exponential finds the exponent of a quantity that has one. Kubernetes reads e9 as well, which has no digit before it.
var exponential = regexp.MustCompile(`[eE]([+-]?[0-9]+)$`)

// Parse reads a quantity, as resource.ParseQuantity does. An exponent beyond 129 and a text of more than 128 bytes are errors.
func Parse(text string) (resource.Quantity, error) {
	if len(text) > maxLength {
		return resource.Quantity{}, fmt.Errorf("the quantity %s has %d characters: it may have %d", shortened(text), len(text), maxLength)
	}
	if found := exponential.FindStringSubmatch(text); found != nil {
		if n, err := strconv.ParseInt(found[1], 10, 64); err != nil || n > maxExponent || n < -maxExponent {
			return resource.Quantity{}, fmt.Errorf("the exponent of a quantity is %s: it has to be from %d to %d", shortened(found[1]), -maxExponent, maxExponent)
		}
	}
	return resource.ParseQuantity(text) //nolint:wrapcheck // as Kubernetes says it
}

// shortened is a text of which a message can have the whole.
func shortened(text string) string {
	const most = 20
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// Unreadable returns the path of each text in decoded JSON that a type has a quantity for and that [Parse] does not read, in order of
// the paths. The type may be one of a pointer.
func Unreadable(value any, into reflect.Type) []string {
	found := unreadable(value, into, "", 0)
	slices.Sort(found)
	return found
}

// maxDepth ends the search in types that contain themselves; no type of Kubernetes nests quantities as deep.
const maxDepth = 64

func unreadable(value any, into reflect.Type, path string, depth int) []string {
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	if depth > maxDepth {
		return nil
	}
	if into == reflect.TypeFor[resource.Quantity]() {
		text, ok := value.(string)
		if _, err := Parse(text); ok && err != nil {
			return []string{path}
		}
		return nil
	}
	var out []string
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if t := typeOf(into, key); t != nil {
				out = append(out, unreadable(child, t, join(path, key), depth+1)...)
			}
		}
	case []any:
		if into.Kind() == reflect.Slice || into.Kind() == reflect.Array {
			for i := range v {
				out = append(out, unreadable(v[i], into.Elem(), fmt.Sprintf("%s[%d]", path, i), depth+1)...)
			}
		}
	}
	return out
}

// typeOf is the type of a field of a struct, by its name in JSON, or of the values of a map; nil if there is none.
func typeOf(into reflect.Type, key string) reflect.Type {
	if into.Kind() == reflect.Map {
		return into.Elem()
	}
	if into.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(into) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			continue // its fields are visible
		}
		if strings.EqualFold(cmp.Or(name, field.Name), key) { // encoding/json ignores case
			return field.Type
		}
	}
	return nil
}

func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}
