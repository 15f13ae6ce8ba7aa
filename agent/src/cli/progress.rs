//! Progress on stderr: a bar on a terminal, a line for each new phase otherwise.

use super::console::Console;
use crate::protocol::event::{Accepted, Event, Phase, Progress};
use crate::render;
use indicatif::{ProgressBar, ProgressStyle};

/// As many characters of a model's words are shown.
const SAID: usize = 100;

/// Shows the progress of one request: a bar for each phase, one after the other.
pub struct Meter {
    bar: Option<ProgressBar>,
    phase: Option<Phase>,
    /// The bytes of the download that the bar is of; 0 where it is of percent.
    total_bytes: u64,
    is_colored: bool,
    is_quiet: bool,
    last: String,
}

impl Meter {
    /// A meter that fits the console.
    pub fn new(console: &Console, is_quiet: bool) -> Self {
        let bar = (console.err_is_terminal && !is_quiet).then(|| ProgressBar::new(100));
        Self { bar, phase: None, total_bytes: 0, is_colored: console.color, is_quiet, last: String::new() }
    }

    /// How a phase is shown: what only waits has no percent, a download of known size its rate and the time that is left.
    fn style(&self, phase: Phase) -> ProgressStyle {
        let color = if self.is_colored { ".cyan/dim" } else { "" };
        let word = phase_word(phase);
        let template = match (phase, self.total_bytes) {
            (Phase::Waiting, _) => format!("  {{spinner}} {word:11} {{wide_msg}} {{elapsed}}"),
            (_, 0) => {
                format!("  {{spinner}} {word:11} {{bar:15{color}}} {{pos:>3}} % {{wide_msg}} {{elapsed}}")
            }
            // Last, so that a narrow terminal cuts the bar and not the figures.
            (_, _) => format!(
                "  {{spinner}} {word:11} {{binary_bytes}}/{{binary_total_bytes}} {{binary_bytes_per_sec}} {{eta}} left \
                 {{wide_bar{}}}",
                if color.is_empty() { "" } else { ":.cyan/dim" }
            ),
        };
        let style = ProgressStyle::with_template(&template);
        style.unwrap_or_else(|_| ProgressStyle::default_bar())
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event, console: &mut Console) {
        match event {
            Event::Progress(progress) => self.progress(progress, console),
            Event::Accepted(Accepted { attached: true, .. }) => self.line("already under way", console),
            // The view tells of it.
            Event::Waiting(_)
            | Event::Accepted(_)
            | Event::Output(_)
            | Event::Completed(_)
            | Event::Refused(_)
            | Event::Error(_) => {}
        }
    }

    /// Shows the end of what a model has said so far, on a terminal.
    pub fn says(&mut self, words: &str) {
        let Some(bar) = &self.bar else { return };
        let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let count = last.chars().count();
        let end: String = last.chars().skip(count.saturating_sub(SAID)).collect();
        if self.phase != Some(Phase::Unspecified) {
            let style = ProgressStyle::with_template("  {spinner} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.phase = Some(Phase::Unspecified);
        }
        bar.set_message(postern_text::line(&end));
        bar.tick();
    }

    fn progress(&mut self, progress: &Progress, console: &mut Console) {
        let Progress { phase, item, percent, detail, total_bytes } = progress;
        // apt numbers what it downloads.
        let is_number = !item.is_empty() && item.bytes().all(|b| b.is_ascii_digit());
        let item = if is_number { format!("file {item}") } else { item.clone() };
        let Some(bar) = &self.bar else {
            let detail = if *phase == Phase::Waiting { format!(": {detail}") } else { String::new() };
            let item = if *total_bytes > 0 { render::size(*total_bytes) } else { item };
            let text = format!("{} {item}", phase_word(*phase));
            self.line(format!("{}{detail}", text.trim_end()).trim_end_matches(": "), console);
            return;
        };
        if (self.phase, self.total_bytes) != (Some(*phase), *total_bytes) {
            self.total_bytes = *total_bytes;
            bar.set_style(self.style(*phase));
            bar.set_length(if *total_bytes > 0 { *total_bytes } else { 100 });
        }
        if self.phase.replace(*phase) != Some(*phase) {
            // How long this phase takes, not all of them.
            bar.reset_elapsed();
            bar.reset_eta();
        }
        let parts: Vec<&str> = [item.as_str(), detail].into_iter().filter(|part| !part.is_empty()).collect();
        bar.set_message(postern_text::line(&parts.join(": ")));
        let percent = u64::from((*percent).min(100));
        bar.set_position(if *total_bytes > 0 { total_bytes / 100 * percent } else { percent });
    }

    /// A line of its own, unless it was the last one too.
    pub fn line(&mut self, text: &str, console: &mut Console) {
        if self.is_quiet || self.last == text {
            return;
        }
        text.clone_into(&mut self.last);
        match &self.bar {
            Some(bar) => bar.println(format!("  {}", postern_text::line(text))),
            None => console.say(&format!("  {text}")),
        }
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "waiting",
        Phase::Update => "updating",
        Phase::Download => "downloading",
        Phase::Unpack => "unpacking",
        Phase::Configure => "configuring",
        Phase::Run => "running",
        Phase::Validate => "validating",
        Phase::Unspecified => "working",
    }
}
