package model

// PreferencePolicy is what may be launched for preferences of pods: preferred node affinity, preferred pod affinity and anti-affinity,
// and ScheduleAnyway topology spread constraints. The zero value is RespectPreferences. The values are those of --preference-policy.
type PreferencePolicy string

const (
	// RespectPreferences relaxes a preference only when it cannot be met: a node is opened for a preference alone.
	RespectPreferences PreferencePolicy = "Respect"
	// EconomicalPreferences lets preferences choose among nodes that are needed anyway: no node is opened for a preference alone.
	EconomicalPreferences PreferencePolicy = "Economical"
	// IgnorePreferences leaves preferences out.
	IgnorePreferences PreferencePolicy = "Ignore"
)
