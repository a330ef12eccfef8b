package awstest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// shutdownTakes is how long an instance is shutting down by default.
const shutdownTakes = 30 * time.Second

// Instance is an instance.
type Instance struct {
	ID, Type, Zone, Subnet, Image string
	// State is the EC2 state, for instance running.
	State    string
	Spot     bool
	Launched time.Time
	// Template and Fleet are the launch template and the fleet that launched it.
	Template, Fleet                            string
	Tenancy, Profile, PlacementGroup           string
	Partition                                  int
	Reservation, ReservationPreference, Market string
	Interfaces                                 []Interface
	Address                                    string
	// IPv6 is its IPv6 address; empty if it was launched without one.
	IPv6 string
	// DNS is its private DNS name; Public says that it has a public address.
	DNS    string
	Public bool
	// Data are the parameters of the template that launched it, by their names on the wire.
	Data map[string]string
	// OtherTags are the tags of the resources created with it, by resource type, for instance volume.
	OtherTags map[string]map[string]string
	// SystemFailed and InstanceFailed are since when the status checks of host and instance fail; zero if they pass.
	SystemFailed, InstanceFailed time.Time
	// Events are the scheduled events.
	Events []ScheduledEvent
	// Reboots is how often it was rebooted.
	Reboots int

	ends        time.Time
	reclaimed   time.Time
	hiddenReads int
	hiddenUntil time.Time
}

// ScheduledEvent is a scheduled event of an instance, pending or completed.
type ScheduledEvent struct{ Code, Description string }

// Interface is a network interface of an instance.
type Interface struct {
	Kind   string
	Groups []string
}

// Instances are all instances, including terminated ones, in order of age.
func (a *Account) Instances() []Instance {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance()
	var out []Instance
	for _, i := range a.instances {
		out = append(out, *i)
	}
	return out
}

// Tags are the tags of a launched resource.
func (a *Account) Tags(id string) map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.tags[id])
}

// Change modifies an instance.
func (a *Account) Change(id string, change func(*Instance)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range a.instances {
		if i.ID == id {
			change(i)
		}
	}
}

// Vanish terminates an instance at once, as its owner may by other means.
func (a *Account) Vanish(id string) {
	a.Change(id, func(i *Instance) {
		i.State = "terminated"
		a.tellState(i.ID, i.State)
	})
}

// AddInstance adds an instance, with tags, that was not launched through the API, and returns its ID.
func (a *Account) AddInstance(i Instance, tags map[string]string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	i.ID = a.id("i")
	if i.State == "" {
		i.State = "running"
	}
	a.tags[i.ID] = maps.Clone(tags)
	a.instances = append(a.instances, &i)
	return i.ID
}

// advance moves instances to their next state when its time has come. The account is locked.
func (a *Account) advance() {
	now := a.clock.Now()
	for _, i := range a.instances {
		if i.State == "pending" && now.After(i.Launched) {
			i.State = "running"
			a.tellState(i.ID, i.State)
		}
		if i.State == "running" && !i.reclaimed.IsZero() && !now.Before(i.reclaimed) {
			a.end(i, i.reclaimed)
		}
		if i.State == "shutting-down" && !now.Before(i.ends) {
			i.State = "terminated"
			a.tellState(i.ID, i.State)
		}
	}
}

// end terminates an instance and releases its capacity. The account is locked.
func (a *Account) end(i *Instance, at time.Time) {
	i.State, i.ends = "shutting-down", at.Add(a.shutdown)
	if r := a.reservation(i.Reservation); r != nil {
		r.Left++
	}
	if s := a.subnet(i.Subnet); s != nil {
		s.Free++
	}
	a.tellState(i.ID, i.State)
}

// visible reports whether a read call sees an instance, and counts the call. The account is locked.
func (a *Account) visible(i *Instance) bool {
	if i.hiddenReads > 0 {
		i.hiddenReads--
		return false
	}
	return !a.clock.Now().Before(i.hiddenUntil)
}

// instanceID matches instance IDs.
var instanceID = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)

// pick returns the visible instances with these IDs. A missing one is an error.
func (a *Account) pick(ids []string) ([]*Instance, error) {
	a.advance()
	var out []*Instance
	var missing []string
	for _, id := range ids {
		if !instanceID.MatchString(id) {
			return nil, refuse("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		at := slices.IndexFunc(a.instances, func(i *Instance) bool { return i.ID == id })
		if at < 0 || !a.visible(a.instances[at]) {
			missing = append(missing, id)
			continue
		}
		out = append(out, a.instances[at])
	}
	if len(missing) > 0 {
		return nil, refuse("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(missing, ", "))
	}
	return out, nil
}

func describeInstances(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "instance-state-name", "instance-id", "instance-type")
	if err != nil {
		return nil, err
	}
	ids := f.list("InstanceId")
	var found []*Instance
	if len(ids) > 0 {
		found, err = a.pick(ids)
	} else {
		a.advance()
		found = keep(a.instances, a.visible)
	}
	if err != nil {
		return nil, err
	}
	found = keep(found, func(i *Instance) bool {
		return meets(conditions, a.tags[i.ID], map[string][]string{"instance-state-name": {i.State}, "instance-id": {i.ID}, "instance-type": {i.Type}})
	})
	found, token, err := page(f, found, 1000, len(ids) > 0)
	type reservation struct {
		ID        string         `xml:"reservationId"`
		Instances []wireInstance `xml:"instancesSet>item"`
	}
	answer := struct {
		Reservations []reservation `xml:"reservationSet>item"`
		Token        string        `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, i := range found {
		answer.Reservations = append(answer.Reservations, reservation{"r-" + i.ID, []wireInstance{a.wire(i)}})
	}
	return answer, err
}

type wireInstance struct {
	ID          string          `xml:"instanceId"`
	Image       string          `xml:"imageId"`
	State       string          `xml:"instanceState>name"`
	Type        string          `xml:"instanceType"`
	Launched    string          `xml:"launchTime"`
	Zone        string          `xml:"placement>availabilityZone"`
	ZoneID      string          `xml:"placement>availabilityZoneId,omitempty"`
	Tenancy     string          `xml:"placement>tenancy"`
	Group       string          `xml:"placement>groupId,omitempty"`
	Partition   int             `xml:"placement>partitionNumber,omitempty"`
	Subnet      string          `xml:"subnetId"`
	VPC         string          `xml:"vpcId"`
	DNS         string          `xml:"privateDnsName"`
	Lifecycle   string          `xml:"instanceLifecycle,omitempty"`
	SpotRequest string          `xml:"spotInstanceRequestId,omitempty"`
	Reservation string          `xml:"capacityReservationId,omitempty"`
	Preference  string          `xml:"capacityReservationSpecification>capacityReservationPreference,omitempty"`
	Groups      []wireGroup     `xml:"groupSet>item"`
	Interfaces  []wireInterface `xml:"networkInterfaceSet>item"`
	Tags        []wireTag       `xml:"tagSet>item"`
	Profile     string          `xml:"iamInstanceProfile>arn,omitempty"`
}

type wireGroup struct {
	ID string `xml:"groupId"`
}

type wireInterface struct {
	Kind   string      `xml:"interfaceType"`
	Groups []wireGroup `xml:"groupSet>item"`
}

// wire is an instance in the format of EC2. The account is locked.
func (a *Account) wire(i *Instance) wireInstance {
	w := wireInstance{
		ID: i.ID, Image: i.Image, State: i.State, Type: i.Type, Launched: stamp(i.Launched), Zone: i.Zone, ZoneID: a.zoneID(i.Zone), Tenancy: i.Tenancy,
		Group: i.PlacementGroup, Partition: i.Partition, Subnet: i.Subnet, VPC: VPC, Reservation: i.Reservation,
		Preference: i.ReservationPreference, Tags: wireTags(a.tags[i.ID]),
		DNS: or(i.DNS, fmt.Sprintf("ip-%s.ec2.internal", strings.ReplaceAll(i.Address, ".", "-"))),
	}
	switch {
	case i.Spot:
		w.Lifecycle, w.SpotRequest = "spot", "sir-"+i.ID
	case i.Market != "":
		w.Lifecycle = i.Market
	}
	if i.Profile != "" {
		w.Profile = "arn:aws:iam::" + AccountID + ":instance-profile/" + i.Profile
	}
	seen := map[string]bool{}
	for _, face := range i.Interfaces {
		out := wireInterface{Kind: face.Kind}
		for _, group := range face.Groups {
			out.Groups = append(out.Groups, wireGroup{group})
			if !seen[group] {
				seen[group] = true
				w.Groups = append(w.Groups, wireGroup{group})
			}
		}
		w.Interfaces = append(w.Interfaces, out)
	}
	return w
}

func terminateInstances(a *Account, f *form) (any, error) {
	found, err := a.pick(f.list("InstanceId"))
	if err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	type change struct {
		ID     string `xml:"instanceId"`
		Now    string `xml:"currentState>name"`
		Before string `xml:"previousState>name"`
	}
	var changes []change
	for _, i := range found {
		before := i.State
		if before != "terminated" && before != "shutting-down" {
			a.end(i, a.clock.Now())
		}
		changes = append(changes, change{i.ID, i.State, before})
	}
	return struct {
		Changes []change `xml:"instancesSet>item"`
	}{changes}, nil
}

// BootID is the boot ID of the operating system; each boot has another one.
func (i *Instance) BootID() string { return fmt.Sprintf("%s-boot-%d", i.ID, i.Reboots+1) }

func rebootInstances(a *Account, f *form) (any, error) {
	found, err := a.pick(f.list("InstanceId"))
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if i.State != "running" {
			return nil, refuse("IncorrectState", "This instance '%s' is not in a state from which it can be rebooted.", i.ID)
		}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	for _, i := range found {
		i.Reboots++
	}
	return struct {
		Return bool `xml:"return"`
	}{true}, nil
}

func createTags(a *Account, f *form) (any, error) {
	ids, tags := f.list("ResourceId"), f.tagSet("Tag")
	if len(ids) == 0 || len(tags) == 0 {
		return nil, refuse("MissingParameter", "The request must contain the parameter resourceIdSet and tagSet")
	}
	if _, err := a.pick(ids); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if a.tags[id] == nil {
			a.tags[id] = map[string]string{}
		}
		maps.Copy(a.tags[id], tags)
	}
	return nil, nil
}

// runInstances serves dry runs only: the provider launches through CreateFleet.
func runInstances(a *Account, f *form) (any, error) {
	if !f.flag("DryRun") {
		return nil, refuse("UnsupportedOperation", "only dry runs are served here")
	}
	parts, err := f.below("LaunchTemplate", "LaunchTemplateName", "LaunchTemplateId", "Version")
	if err != nil {
		return nil, err
	}
	template := a.template(parts["LaunchTemplateName"], parts["LaunchTemplateId"])
	if template == nil {
		return nil, missingTemplate(parts["LaunchTemplateName"], parts["LaunchTemplateId"])
	}
	o := override{template: template, instanceType: f.text("InstanceType")}
	for _, item := range f.items("NetworkInterface") {
		if o.subnet = or(o.subnet, f.text(item+".SubnetId")); f.text(item+".DeviceIndex") == "" {
			return nil, refuse("InvalidNetworkInterfaceAttachment", "a network interface has no device index")
		}
		f.text(item + ".NetworkCardIndex")
		f.text(item + ".InterfaceType")
		f.list(item + ".SecurityGroupId")
	}
	f.text("ClientToken")
	f.text("MinCount")
	f.text("MaxCount")
	f.tagSpecifications("TagSpecification")
	if err := a.judge(&o); err != nil {
		return nil, err
	}
	return nil, a.profileExists(template.Data["IamInstanceProfile.Name"])
}
