package main

// kind is the type of the panel.
func (p panel) kind() string {
	if p.Type == "" {
		return "timeseries"
	}
	return p.Type
}

// size is the width and the height in units of the grid.
func (p panel) size() (width, height int) {
	width, height = gridWidth/2, 8
	if p.kind() == "stat" {
		height = 4
	}
	if p.Width > 0 {
		width = p.Width
	}
	if p.Height > 0 {
		height = p.Height
	}
	return width, height
}

// json is the panel as Grafana reads it.
func (p panel) json(id int, at object) object {
	out := object{"id": id, "type": p.kind(), "title": p.Title, "gridPos": at}
	if p.About != "" {
		out["description"] = p.About
	}
	if p.kind() == "text" {
		out["options"] = object{"mode": "markdown", "content": p.Text}
		return out
	}
	out["datasource"] = datasource()
	out["fieldConfig"] = object{"defaults": p.field(), "overrides": []any{}}
	out["options"] = p.options()
	var targets []any
	for i, q := range p.Queries {
		target := object{
			"refId": string(rune('A' + i)), "datasource": datasource(), "editorMode": "code", "expr": q.Expr,
			"instant": q.Instant, "range": !q.Instant, "legendFormat": "__auto",
		}
		if q.Legend != "" {
			target["legendFormat"] = q.Legend
		}
		targets = append(targets, target)
	}
	out["targets"] = targets
	return out
}

// field is how values are shown.
func (p panel) field() object {
	mode := "thresholds"
	if p.kind() == "timeseries" {
		mode = "palette-classic"
	}
	out := object{"unit": p.Unit, "mappings": []any{}, "color": object{"mode": mode}, "thresholds": object{"mode": "absolute", "steps": p.steps()}}
	if !p.Signed {
		out["min"] = 0
	}
	if p.Decimals != nil {
		out["decimals"] = *p.Decimals
	}
	if p.Max != nil {
		out["max"] = *p.Max
	}
	if p.Synced {
		out["mappings"] = []any{object{"type": "value", "options": object{
			"0": object{"index": 0, "text": "not synced", "color": "red"}, "1": object{"index": 1, "text": "synced", "color": "green"},
		}}}
	}
	if p.kind() == "timeseries" {
		stacking, fill := object{"mode": "none", "group": "A"}, 0
		if p.Stacked {
			stacking["mode"], fill = "normal", 30
		}
		out["custom"] = object{
			"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": fill, "showPoints": "auto", "pointSize": 4,
			"spanNulls": false, "stacking": stacking,
		}
	}
	return out
}

// steps are the thresholds.
func (p panel) steps() []any {
	base := "green"
	if p.Orange == nil && p.Red == nil {
		base = "text"
	}
	out := []any{object{"color": base, "value": nil}}
	for _, t := range []struct {
		color string
		from  *float64
	}{{"orange", p.Orange}, {"red", p.Red}} {
		if t.from != nil {
			out = append(out, object{"color": t.color, "value": *t.from})
		}
	}
	return out
}

// options are those of the type of the panel.
func (p panel) options() object {
	last := object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
	switch p.kind() {
	case "stat":
		return object{"reduceOptions": last, "colorMode": "value", "graphMode": "area", "justifyMode": "auto", "orientation": "auto", "textMode": "auto"}
	case "bargauge":
		return object{"reduceOptions": last, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": true, "valueMode": "color", "minVizHeight": 10, "minVizWidth": 0}
	}
	return object{
		"legend":  object{"displayMode": "table", "placement": "bottom", "showLegend": true, "calcs": []string{"lastNotNull", "max"}},
		"tooltip": object{"mode": "multi", "sort": "desc"},
	}
}
