package options

import "testing"

// other are settings of a provider that exists in tests only.
type other struct {
	Mode  string `name:"other-mode" envvar:"OTHER_MODE" default:"fast" emptyenv:""`
	Plain string `name:"other-plain" envvar:"OTHER_PLAIN" default:"fast"`
}

func (*other) Provider() CloudProvider { return "other" }

func (*other) Validate(all Options, refuse Refuse) {
	if all.CloudProvider == "other" && all.Cluster.Name == "" {
		refuse("cluster-name", "CLUSTER_NAME", all.Cluster.Name, "must be set")
	}
}

// TestEmptyVariables: an empty variable is a value where the flag says so, and otherwise not set.
func TestEmptyVariables(t *testing.T) {
	for _, test := range []struct {
		what       string
		args       []string
		env        map[string]string
		mode, text string
	}{
		{"nothing set", nil, nil, "fast", "fast"},
		{"empty variables", nil, map[string]string{"OTHER_MODE": "", "OTHER_PLAIN": ""}, "", "fast"},
		{"empty flags", []string{"--other-mode=", "--other-plain="}, nil, "", ""},
		{"a flag beats an empty variable", []string{"--other-mode=slow"}, map[string]string{"OTHER_MODE": ""}, "slow", "fast"},
	} {
		var got other
		if _, err := Parse(test.args, lookup(test.env), &got); err != nil || got.Mode != test.mode || got.Plain != test.text {
			t.Errorf("%s: %+v, %v", test.what, got, err)
		}
	}
}

// TestSharedSettingsAreRequiredByTheChosenProvider: what one provider requires, others may leave out.
func TestSharedSettingsAreRequiredByTheChosenProvider(t *testing.T) {
	for _, test := range []struct {
		args []string
		ok   bool
	}{
		{nil, true},
		{[]string{"--cloud-provider=other"}, false},
		{[]string{"--cloud-provider=other", "--cluster-name=one"}, true},
		{[]string{"--cluster-endpoint=/api"}, false},
		{[]string{"--vm-memory-overhead-percent=7.5"}, false},
	} {
		if _, err := Parse(test.args, lookup(nil), &other{}); (err == nil) != test.ok {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}
