package awstest

import (
	"encoding/base64"
	"maps"
	"slices"
	"time"
)

// userDataLimit is the maximum size of user data, in bytes before base64.
const userDataLimit = 16384

// LaunchTemplate is a launch template of one version.
type LaunchTemplate struct {
	ID, Name string
	Created  time.Time
	Tags     map[string]string
	// Data are the parameters, by their names on the wire, for instance "Placement.Tenancy".
	Data map[string]string
}

// LaunchTemplates are the existing launch templates, in order of age.
func (a *Account) LaunchTemplates() []LaunchTemplate {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []LaunchTemplate
	for _, t := range a.templates {
		c := *t
		c.Tags, c.Data = maps.Clone(t.Tags), maps.Clone(t.Data)
		out = append(out, c)
	}
	return out
}

// RemoveLaunchTemplates deletes all launch templates, as another client may.
func (a *Account) RemoveLaunchTemplates() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.templates = nil
}

// template is a launch template by name or ID; nil if there is none. The account is locked.
func (a *Account) template(name, id string) *LaunchTemplate {
	at := slices.IndexFunc(a.templates, func(t *LaunchTemplate) bool { return name != "" && t.Name == name || id != "" && t.ID == id })
	if at < 0 {
		return nil
	}
	return a.templates[at]
}

// missingTemplate is the error for a missing name or ID.
func missingTemplate(name, id string) error {
	if name != "" {
		return refuse("InvalidLaunchTemplateName.NotFoundException", "At least one of the launch templates specified in the request does not exist: %s", name)
	}
	return refuse("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
}

func describeLaunchTemplates(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "launch-template-name")
	if err != nil {
		return nil, err
	}
	names, ids := f.list("LaunchTemplateName"), f.list("LaunchTemplateId")
	for _, name := range names {
		if a.template(name, "") == nil {
			return nil, missingTemplate(name, "")
		}
	}
	for _, id := range ids {
		if a.template("", id) == nil {
			return nil, missingTemplate("", id)
		}
	}
	found := keep(a.templates, func(t *LaunchTemplate) bool {
		return (len(names) == 0 || slices.Contains(names, t.Name)) && (len(ids) == 0 || slices.Contains(ids, t.ID)) &&
			meets(conditions, t.Tags, map[string][]string{"launch-template-name": {t.Name}})
	})
	found, token, err := page(f, found, 200, len(names)+len(ids) > 0)
	answer := struct {
		Templates []wireTemplate `xml:"launchTemplates>item"`
		Token     string         `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, t := range found {
		answer.Templates = append(answer.Templates, t.wire())
	}
	return answer, err
}

type wireTemplate struct {
	ID      string    `xml:"launchTemplateId"`
	Name    string    `xml:"launchTemplateName"`
	Created string    `xml:"createTime"`
	Latest  int       `xml:"latestVersionNumber"`
	Tags    []wireTag `xml:"tagSet>item"`
}

func (t *LaunchTemplate) wire() wireTemplate {
	return wireTemplate{t.ID, t.Name, stamp(t.Created), 1, wireTags(t.Tags)}
}

// templateParts are the parts of a launch template's data.
func templateParts() []string {
	return []string{
		"BlockDeviceMapping", "CapacityReservationSpecification", "CpuOptions", "EbsOptimized", "EnclaveOptions", "IamInstanceProfile",
		"ImageId", "InstanceMarketOptions", "InstanceType", "KeyName", "MetadataOptions", "Monitoring", "NetworkInterface", "Placement",
		"SecurityGroupId", "TagSpecification", "UserData",
	}
}

func createLaunchTemplate(a *Account, f *form) (any, error) {
	data, err := f.below("LaunchTemplateData", templateParts()...)
	if err != nil {
		return nil, err
	}
	f.text("ClientToken") // the SDK sends one with every call
	t := &LaunchTemplate{Name: f.text("LaunchTemplateName"), Created: a.clock.Now(), Data: data, Tags: map[string]string{}}
	for kind, tags := range f.tagSpecifications("TagSpecification") {
		if kind != "launch-template" {
			return nil, refuse("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", kind)
		}
		t.Tags = tags
	}
	text, err := base64.StdEncoding.DecodeString(data["UserData"])
	switch {
	case t.Name == "" || len(data) == 0:
		return nil, refuse("MissingParameter", "The request must contain the parameter LaunchTemplateName and LaunchTemplateData")
	case a.template(t.Name, "") != nil:
		return nil, refuse("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	case err != nil:
		return nil, refuse("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	case len(text) > userDataLimit:
		return nil, refuse("InvalidUserData.Malformed", "User data is limited to %d bytes", userDataLimit)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	t.ID = a.id("lt")
	a.templates = append(a.templates, t)
	return struct {
		Template wireTemplate `xml:"launchTemplate"`
	}{t.wire()}, nil
}

func deleteLaunchTemplate(a *Account, f *form) (any, error) {
	name, id := f.text("LaunchTemplateName"), f.text("LaunchTemplateId")
	t := a.template(name, id)
	if t == nil {
		return nil, missingTemplate(name, id)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	a.templates = slices.DeleteFunc(a.templates, func(have *LaunchTemplate) bool { return have == t })
	return struct {
		Template wireTemplate `xml:"launchTemplate"`
	}{t.wire()}, nil
}
