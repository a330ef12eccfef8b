package crds_test

import (
	"fmt"
	"strings"
)

// awsSelectorCases are the rules of the selectors of EC2NodeClass.
func awsSelectorCases() []awsCase {
	const (
		noSubnetField      = "expected at least one, got none, ['tags', 'id']"
		noGroupField       = "expected at least one, got none, ['tags', 'id', 'name']"
		noReservationField = "expected at least one, got none, ['tags', 'id', 'instanceMatchCriteria']"
		noImageField       = "expected at least one, got none, ['tags', 'id', 'name', 'alias', 'ssmParameter']"
		emptyTag           = "empty tag keys or values aren't supported"
		subnets            = "spec.subnetSelectorTerms"
		groups             = "spec.securityGroupSelectorTerms"
		reservations       = "spec.capacityReservationSelectorTerms"
		images             = "spec.amiSelectorTerms"
	)
	return []awsCase{
		{name: "subnets by tags or id", at: subnets, accept: "[{tags: {a: b}}]\n[{id: subnet-12345749}]\n[{tags: {a: \"*\"}}, {id: subnet-1}]"},
		{name: "no subnet terms", at: subnets, reject: "[]", because: "subnetSelectorTerms cannot be empty"},
		{name: "subnet terms that are not there", at: subnets, reject: "null\nOMIT", because: subnets + ": "},
		{name: "a subnet term says something", at: subnets, reject: "[{}]\n[{tags: {}}]\n[{id: subnet-1}, {}]", because: noSubnetField},
		{name: "tags of a subnet term", at: subnets, reject: "[{tags: {\"\": b}}]\n[{tags: {a: \"\"}}]\n[{tags: {a: b}}, {tags: {a: b, \"\": c}}]", because: emptyTag},
		{
			name: "a subnet term has tags or an id", at: subnets, reject: `[{id: subnet-1, tags: {a: b}}]`,
			because: "'id' is mutually exclusive, cannot be set with a combination of other fields in a subnet selector term",
		},
		{name: "as before, only a list of nothing but wrong subnet terms is refused", at: subnets, accept: `[{id: subnet-1, tags: {a: b}}, {id: subnet-2}]`},
		{name: "the id of a subnet", at: subnets, reject: "[{id: sg-1}]\n[{id: \"\"}]", because: subnets + "[0].id"},
		{name: "thirty subnet terms", at: subnets, accept: repeat("{id: subnet-1}", 30), reject: repeat("{id: subnet-1}", 31), because: subnets},
		{name: "twenty tags a term", at: subnets, accept: tags(20), reject: tags(21), because: subnets + "[0].tags"},

		{name: "groups by tags, id or name", at: groups, accept: "[{tags: {a: b}}]\n[{id: sg-12345749}]\n[{name: my-group}]"},
		{name: "no group terms", at: groups, reject: "[]", because: "securityGroupSelectorTerms cannot be empty"},
		{name: "group terms that are not there", at: groups, reject: "null\nOMIT", because: groups + ": "},
		{name: "a group term says something", at: groups, reject: "[{}]\n[{tags: {}}]\n[{id: sg-1}, {}]", because: noGroupField},
		{name: "tags of a group term", at: groups, reject: "[{tags: {\"\": b}}]\n[{tags: {a: \"\"}}]", because: emptyTag},
		{
			name: "a group term with an id has nothing else", at: groups, reject: "[{id: sg-1, tags: {a: b}}]\n[{id: sg-1, name: x}]",
			because: "'id' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
		},
		{
			name: "a group term with a name has nothing else", at: groups, reject: "[{name: x, tags: {a: b}}]\n[{id: sg-1, name: x}]",
			because: "'name' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
		},

		{
			name: "reservations", at: reservations,
			accept: "OMIT\n[]\n[{tags: {a: b}}]\n[{id: cr-12345749}]\n[{tags: {a: b}, ownerID: \"012345678901\"}]\n[{instanceMatchCriteria: open}]\n[{instanceMatchCriteria: targeted}]\n" +
				"[{instanceMatchCriteria: open, tags: {a: b}}]\n[{instanceMatchCriteria: open, ownerID: \"012345678901\", tags: {a: b}}]",
		},
		{name: "the id of a reservation", at: reservations, reject: "[{id: r-1}]\n[{id: cr-}]\n[{id: xcr-1}]", because: reservations + "[0].id"},
		{name: "the owner of a reservation", at: reservations, reject: "[{tags: {a: b}, ownerID: \"01234567890\"}]\n[{tags: {a: b}, ownerID: me}]", because: reservations + "[0].ownerID"},
		{name: "a reservation term says something", at: reservations, reject: "[{ownerID: \"012345678901\"}]\n[{}]\n[{tags: {}}]\n[{id: cr-1}, {}]", because: noReservationField},
		{name: "tags of a reservation term", at: reservations, reject: "[{tags: {\"\": b}}]\n[{tags: {a: \"\"}}]", because: emptyTag},
		{name: "criteria of a reservation term", at: reservations, reject: `[{instanceMatchCriteria: any}]`, because: reservations + "[0].instanceMatchCriteria"},
		{
			name: "a reservation term with an id has nothing else", at: reservations,
			reject:  "[{id: cr-1, tags: {a: b}}]\n[{id: cr-1, ownerID: \"012345678901\"}]\n[{id: cr-1, instanceMatchCriteria: open}]",
			because: "'id' is mutually exclusive, cannot be set along with other fields in a capacity reservation selector term",
		},

		{
			name: "images", at: "spec",
			accept: customImages("[{tags: {a: b}}]", "[{id: ami-12345749}]", "[{name: x}]", "[{name: x, owner: self}]", "[{tags: {a: b}, owner: amazon}]", "[{ssmParameter: /a/b}]",
				"[{id: ami-1}, {name: \"x*\", tags: {a: b}, owner: \"012345678901\"}]"),
		},
		{name: "an image term says something", at: "spec", reject: customImages("[{}]", "[{tags: {}}]", "[{owner: self}]", "[{id: ami-1}, {}]"), because: noImageField},
		{name: "tags of an image term", at: "spec", reject: customImages("[{tags: {\"\": b}}]", "[{tags: {a: \"\"}}]"), because: emptyTag},
		{
			name: "an image term with an id has nothing else", at: "spec",
			reject:  customImages("[{id: ami-1, tags: {a: b}}]", "[{id: ami-1, name: x}]", "[{id: ami-1, owner: self}]", "[{id: ami-1, alias: al2023@latest}]", "[{id: ami-2}, {id: ami-1, name: x}]"),
			because: "'id' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",
		},
		{
			name: "an image term with an alias has nothing else", at: images,
			reject:  "[{alias: al2023@latest, id: ami-1}]\n[{alias: al2023@latest, tags: {a: b}}]\n[{alias: al2023@latest, name: x}]\n[{alias: al2023@latest, owner: self}]",
			because: "'alias' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",
		},
		{
			name: "an alias stands alone", at: images, reject: "[{alias: al2023@latest}, {id: ami-1}]\n[{name: x}, {alias: al2023@latest}]\n[{alias: al2023@latest}, {alias: al2023@latest}]",
			because: "'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms",
		},
		{
			name: "versions", at: images,
			accept: "[{alias: al2@latest}]\n[{alias: al2@v20240807}]\n[{alias: al2023@latest}]\n[{alias: al2023@v20240807}]\n[{alias: bottlerocket@latest}]\n[{alias: bottlerocket@v1.19.2}]\n[{alias: bottlerocket@1.19.2}]",
		},
		{
			name: "the form of an alias", at: images, reject: "[{alias: \"@latest\"}]\n[{alias: al2023@}]\n[{alias: al2023}]\n[{alias: \"al2023:latest\"}]\n[{alias: al-2@latest}]",
			because: "'alias' is improperly formatted, must match the format 'family@version'",
		},
		{
			name: "families of aliases", at: images, reject: "[{alias: ubuntu@latest}]\n[{alias: AL2023@latest}]\n[{alias: al2024@latest}]",
			because: "family is not supported, must be one of the following: 'al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025'",
		},
		{
			name: "Windows is always the latest", at: images,
			accept: "[{alias: windows2019@latest}]\n[{alias: windows2022@latest}]\n[{alias: windows2025@latest}]",
			reject: "[{alias: windows2019@v1.0}]\n[{alias: windows2022@v1.0}]\n[{alias: windows2025@latest2}]", because: "windows families may only specify version 'latest'",
		},
		{name: "no family", at: "spec", reject: strings.ReplaceAll(customImages("[{id: ami-1}]"), ", amiFamily: Custom", ""), because: "must specify amiFamily if amiSelectorTerms does not contain an alias"},
		{name: "no image terms", at: images, reject: "[]\nOMIT\nnull", because: images},
		{name: "an alias is short", at: images, reject: `[{alias: al2023@0123456789012345678901234}]`, because: images + "[0].alias"},
	}
}

// awsAliasCases are the rules that tie the family to the alias.
func awsAliasCases() []awsCase {
	families := []string{"AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025"}
	var out []awsCase
	for _, family := range families {
		spec := fmt.Sprintf("{role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}], amiSelectorTerms: [{alias: %s@latest}]}", strings.ToLower(family))
		article := map[bool]string{true: "an", false: "a"}[strings.HasPrefix(family, "AL2")]
		var others []string
		for _, other := range families {
			if other != family {
				others = append(others, other)
			}
		}
		out = append(out,
			awsCase{name: "the family of its alias " + family, at: "spec.amiFamily", also: spec, accept: family + "\nOMIT"},
			awsCase{name: "the family Custom with the alias " + family, at: "spec.amiFamily", also: spec, accept: "Custom"},
			awsCase{
				name: "a family that contradicts the alias " + family, at: "spec.amiFamily", also: spec, reject: strings.Join(others, "\n"),
				because: fmt.Sprintf("if set, amiFamily must be '%s' or 'Custom' when using %s %s alias", family, article, family),
			})
	}
	return out
}

// customImages are specs with image terms, for custom images, one per line.
func customImages(terms ...string) string {
	var lines []string
	for _, term := range terms {
		lines = append(lines, "{role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}], amiFamily: Custom, amiSelectorTerms: "+term+"}")
	}
	return strings.Join(lines, "\n")
}

// repeat is a list of n equal elements.
func repeat(element string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+", ", n), ", ") + "]"
}

// tags is a list with one term of n tags.
func tags(n int) string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("k%d: v", i))
	}
	return "[{tags: {" + strings.Join(pairs, ", ") + "}}]"
}
