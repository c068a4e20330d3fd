//! Usage for programs: JSON and comma-separated values.

use super::ReportContext;
use crate::amounts::json_usage;
use crate::error::Failure;
use crate::output::{Output, json_string, json_string_or_null};
use std::io::Write;
use treering_usage::{Block, Row, csv_field};

pub(super) fn write_json(context: &ReportContext<'_>, out: &mut Output) -> Result<(), Failure> {
    let ReportContext { by, counted, prices, zone, now, .. } = context;
    write!(out, "{{\"by\":\"{}\",\"rows\":[", by.row())?;
    let report = by.group().map(|group| counted.report(group, zone));
    let blocks = if report.is_none() { counted.blocks() } else { Vec::new() };
    for (at, row) in report.iter().flat_map(|report| &report.rows).enumerate() {
        out.write_all(if at == 0 { b"{\"name\":" } else { b",{\"name\":" })?;
        json_string(out, &row.name)?;
        write_session(context, row, out)?;
        write_row(row, out)?;
    }
    for (at, block) in blocks.iter().enumerate() {
        out.write_all(if at == 0 { b"{\"name\":" } else { b",{\"name\":" })?;
        json_string(out, &treering::time::format(block.start))?;
        write_block(block, *now, out)?;
        write_row(&block.row, out)?;
    }
    out.write_all(b"],\"total\":{\"name\":\"all\"")?;
    match report {
        Some(report) => write_row(&report.total, out)?,
        None => write_row(&counted.report(treering_usage::GroupBy::Day, zone).total, out)?,
    }
    out.write_all(b",\"unknownPrices\":[")?;
    for (at, unknown) in counted.unknown_models().iter().enumerate() {
        out.write_all(if at == 0 { b"{\"model\":" } else { b",{\"model\":" })?;
        json_string(out, unknown.model)?;
        out.write_all(b",\"usage\":")?;
        json_usage(out, &unknown.usage)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"],\"prices\":{\"source\":")?;
    json_string(out, prices.source())?;
    out.write_all(b",\"date\":")?;
    json_string(out, prices.date())?;
    Ok(out.write_all(b"}}\n")?)
}

/// Writes the members that all rows have, and closes the object.
fn write_row(row: &Row<'_>, out: &mut Output) -> Result<(), Failure> {
    write!(out, ",\"sessions\":{}", row.sessions)?;
    for (key, time) in [("first", row.times.map(|t| t.0)), ("last", row.times.map(|t| t.1))] {
        write!(out, ",\"{key}\":")?;
        json_string_or_null(out, time.map(treering::time::format).as_deref())?;
    }
    out.write_all(b",\"usage\":")?;
    json_usage(out, &row.usage)?;
    out.write_all(b",\"models\":[")?;
    for (at, (model, usage)) in row.models.iter().enumerate() {
        out.write_all(if at == 0 { b"{\"model\":" } else { b",{\"model\":" })?;
        json_string(out, model)?;
        out.write_all(b",\"usage\":")?;
        json_usage(out, usage)?;
        out.write_all(b"}")?;
    }
    Ok(out.write_all(b"]}")?)
}

/// Writes the facts about the session of a row, if it is one.
fn write_session(
    context: &ReportContext<'_>,
    row: &Row<'_>,
    out: &mut Output,
) -> Result<(), Failure> {
    let Some(info) = row.session.and_then(|number| context.counted.session(number)) else {
        return Ok(());
    };
    out.write_all(b",\"path\":")?;
    out.json_path(&info.path)?;
    for (key, value) in [("agent", info.agent.name()), ("cwd", &info.cwd)] {
        write!(out, ",\"{key}\":")?;
        json_string(out, value)?;
    }
    out.write_all(b",\"title\":")?;
    Ok(json_string(out, info.title())?)
}

fn write_block(block: &Block<'_>, now: i64, out: &mut Output) -> Result<(), Failure> {
    let end = treering::time::format(block.end);
    let is_active = block.is_active(now);
    write!(out, ",\"end\":\"{end}\",\"active\":{is_active}")?;
    if let Some(pace) = block.pace(now).filter(|_| is_active) {
        write!(
            out,
            ",\"tokensPerMinute\":{:.1},\"costPerHour\":{:.6},\"projectedTokens\":{},\"projectedCost\":{:.6}",
            pace.tokens_per_minute,
            pace.dollars_per_hour,
            pace.projected_tokens,
            pace.projected_dollars,
        )?;
    }
    Ok(())
}

/// The headings after the first, which depends on the rows.
const HEADINGS: &str = "sessions,requests,input,output,cache_read,cache_write,total_tokens,cost,\
                        cost_computed,cost_unknown_requests";

pub(super) fn write_csv(context: &ReportContext<'_>, out: &mut Output) -> Result<(), Failure> {
    let ReportContext { by, counted, zone, .. } = context;
    let models = if context.shows_models { ",model" } else { "" };
    writeln!(out, "{}{models},{HEADINGS}", by.row())?;
    match by.group() {
        Some(group) => {
            for row in &counted.report(group, zone).rows {
                write_csv_row(context, &row.name, row, out)?;
            }
        }
        None => {
            for block in counted.blocks() {
                write_csv_row(context, &treering::time::format(block.start), &block.row, out)?;
            }
        }
    }
    Ok(())
}

fn write_csv_row(
    context: &ReportContext<'_>,
    name: &str,
    row: &Row<'_>,
    out: &mut Output,
) -> Result<(), Failure> {
    let all = [("", row.usage)];
    let lines = if context.shows_models { &*row.models } else { &all };
    for (model, usage) in lines {
        let model =
            if context.shows_models { format!(",{}", csv_field(model)) } else { String::new() };
        let cost = match usage.requests == usage.unknown() {
            true => String::new(),
            false => usage.total_cost().to_string(),
        };
        writeln!(
            out,
            "{}{model},{},{},{},{},{},{},{},{cost},{},{}",
            csv_field(name),
            row.sessions,
            usage.requests,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total(),
            usage.computed,
            usage.unknown(),
        )?;
    }
    Ok(())
}
