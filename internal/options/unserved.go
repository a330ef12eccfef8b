package options

import "fmt"

// Unserved is a setting that was asked for and has no effect in this build.
type Unserved struct {
	// Setting is the flag or gate with its value, as a user would write it.
	Setting string
	// Consequence says what happens instead.
	Consequence string
}

// unservedRule is one row of the table below.
type unservedRule struct {
	setting     string
	consequence string
	asked       func(Options) bool
}

// unservedRules lists what is parsed and has no effect. Whoever serves a feature deletes its row.
func unservedRules() []unservedRule {
	return []unservedRule{
		{"--karpenter-service", "it named the service of a webhook that there is no more", func(o Options) bool { return o.KarpenterService != "" }},
	}
}

// Unserved returns the settings that were changed from their default although they have no effect in this build, in a fixed order.
func (o Options) Unserved() []Unserved {
	var out []Unserved
	for _, rule := range unservedRules() {
		if rule.asked(o) {
			out = append(out, Unserved{Setting: rule.setting, Consequence: rule.consequence})
		}
	}
	return out
}

// String is one sentence for a log line.
func (u Unserved) String() string {
	return fmt.Sprintf("%s has no effect: %s", u.Setting, u.Consequence)
}
