package v1

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"
)

// Never is the text of a duration that is turned off.
const Never = "Never"

// NillableDuration is a duration or Never. A nil Duration means Never. Raw is the JSON text that was decoded; it is
// emitted again as it was, so that tools which compare what they wrote with what is stored see no difference. Never can
// be written in one way only and leaves no text behind: it is the zero value, and hashed as one.
//
// Source: spec API, duration-or-Never scalar.
type NillableDuration struct {
	*time.Duration
	Raw []byte `hash:"ignore"`
}

// NewNillableDuration is a duration made in code, emitted in Go's notation.
func NewNillableDuration(d time.Duration) NillableDuration { return NillableDuration{Duration: &d} }

// UnmarshalJSON accepts Never or a Go duration as a JSON string. Like other decoders it takes null for "leave it".
func (d *NillableDuration) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	parsed, err := parseNillable(b)
	if err != nil {
		return err
	}
	d.Duration, d.Raw = parsed, nil
	if parsed != nil {
		d.Raw = slices.Clone(b)
	}
	return nil
}

// MarshalJSON emits the text that was decoded, if the duration is still the one it says, and otherwise the Go duration
// or Never.
func (d NillableDuration) MarshalJSON() ([]byte, error) {
	if d.rawIsCurrent() {
		return d.Raw, nil
	}
	return json.Marshal(d.text())
}

// ToUnstructured is MarshalJSON for the conversion of whole objects to maps.
func (d NillableDuration) ToUnstructured() any {
	if d.rawIsCurrent() {
		var s string
		if err := json.Unmarshal(d.Raw, &s); err == nil {
			return s
		}
	}
	return d.text()
}

// text is the duration in Go's notation, or Never.
func (d NillableDuration) text() string {
	if d.Duration == nil {
		return Never
	}
	return d.Duration.String()
}

// rawIsCurrent reports whether there is a decoded text and the duration was not replaced since.
func (d NillableDuration) rawIsCurrent() bool {
	if d.Raw == nil {
		return false
	}
	parsed, err := parseNillable(d.Raw)
	if err != nil || (parsed == nil) != (d.Duration == nil) {
		return false
	}
	return parsed == nil || *parsed == *d.Duration
}

// wellFormed is a duration as the API server lets it through. One that is longer than Go can count, 292 years, is taken for that: an
// object that cannot be decoded would stop every watch of its kind, and definitions of other releases do not keep it out.
var wellFormed = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)

// parseNillable reads the JSON text of a duration; nil stands for Never.
func parseNillable(b []byte) (*time.Duration, error) {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("duration %s: want a string such as \"30m\" or %q: %w", b, Never, err)
	}
	if s == Never {
		return nil, nil
	}
	parsed, err := time.ParseDuration(s)
	if err != nil && wellFormed.MatchString(s) {
		parsed, err = math.MaxInt64, nil
	}
	if err != nil {
		return nil, fmt.Errorf("duration %q: want a duration such as \"30m\" or %q: %w", s, Never, err)
	}
	return &parsed, nil
}
