// The words and plots of the built-in stories; tales.cc tells them.
//
// In a sentence {slot} is filled in, {a slot} and {A slot} with an article before it, and [x|y|z] is one of
// the three. A plot is a row of beats, a beat one of its sentences; '?' at the start of a beat's first
// sentence: half of the tales have that beat.
#pragma once

#include <string_view>
#include <vector>

namespace glint::tales {

using Words = std::vector<std::string_view>;
using Beat = Words;
using Plot = std::vector<Beat>;

inline const Words kGirls = {"Lily", "Mia",  "Anna", "Sue",  "Emma", "Zoe", "Lucy",  "Rose",
                             "Ella", "Nora", "Amy",  "Jane", "Ruby", "Ida", "Molly", "Kate"};
inline const Words kBoys = {"Tim",   "Ben",  "Max", "Tom",  "Sam",  "Leo",  "Jack", "Finn",
                            "Oscar", "Noah", "Bob", "Hugo", "Adam", "Theo", "Luke", "Otto"};
inline const Words kAnimals = {"fox", "bear", "rabbit",   "duck",     "mouse",  "cat",  "dog",  "frog",
                               "owl", "pig",  "hedgehog", "squirrel", "turtle", "bird", "goat", "otter"};
inline const Words kSmallAnimals = {"bird",   "kitten", "puppy",    "snail",   "bee",  "butterfly",
                                    "rabbit", "mouse",  "duckling", "ladybug", "lamb", "fish"};
inline const Words kPlaces = {"park",   "garden", "forest", "beach", "farm", "village",    "library", "market",
                              "meadow", "school", "river",  "hill",  "lake", "playground", "barn",    "castle"};
inline const Words kThings = {"ball",     "kite",  "doll",  "car",     "boat",   "hat",    "drum",
                              "book",     "truck", "bear",  "train",   "scarf",  "basket", "lamp",
                              "umbrella", "bell",  "robot", "blanket", "puzzle", "flute"};
inline const Words kFoods = {"cake",   "apple",    "soup", "bread",   "cookie", "pie",
                             "orange", "sandwich", "pear", "pancake", "muffin", "egg"};
inline const Words kColors = {"red", "blue", "green", "yellow", "orange", "purple", "white", "golden", "pink", "brown"};
inline const Words kLooks = {"big", "small", "shiny", "soft", "old", "new", "pretty", "round", "tiny", "funny"};
inline const Words kTraits = {"kind",    "brave",  "curious", "shy",    "clever",
                              "playful", "gentle", "quiet",   "honest", "careful"};
inline const Words kGrown = {"mom", "dad", "grandma", "grandpa", "aunt", "uncle"};
inline const Words kSkills = {"swim",        "sing",  "dance", "read",    "draw",   "jump rope",
                              "ride a bike", "skate", "climb", "whistle", "juggle", "paint"};
inline const Words kFears = {"the dark",      "the storm",   "loud noises",   "deep water",
                             "the old house", "high places", "the big slide", "the long night"};
inline const Words kHiding = {"bed", "table", "big tree", "bench", "bush", "chair", "old bridge", "pile of leaves"};
inline const Words kTreasures = {"key", "map", "box", "coin", "stone", "letter", "shell", "feather"};

inline const Beat kOpenings = {
    "Once upon a time, there was a [little|young|small] {kind} named {hero}.",
    "One day, {a trait} {kind} named {hero} went to the {place}.",
    "There once was {a trait} {kind} called {hero}.",
    "In a [small|quiet|far] {place}, there lived {a kind} named {hero}.",
    "Once there was {a kind} named {hero} who lived near {a place}.",
    "{hero} was {a trait} [little|young] {kind}.",
    "Long ago, near {a place}, lived {a trait} {kind} named {hero}.",
};

inline const Beat kEndings = {
    "{hero} and {friend} were happy and played until the sun went down.",
    "That night, {hero} went to bed with a big smile.",
    "From that day on, {hero} and {friend} were best friends.",
    "{hero} learned that it is good to be {trait2}.",
    "And they all lived happily ever after.",
    "{hero} hugged {his} {grown} and felt warm and safe.",
    "\"This was the best day,\" said {hero}, and everyone laughed.",
    "{hero} never forgot that day at the {place2}.",
    "After that, they went home and ate {a food} together.",
    "{hero} was proud, and {his} {grown} was proud too.",
};

inline const std::vector<Plot> kPlots = {
    // Lost and found.
    {{"{He} had {a look} {color} {thing} that {he} loved very much.", "{He} took {his} {color} {thing} everywhere.",
      "{His} favorite toy was {a look} {color} {thing}."},
     {"One morning, the {thing} was gone.", "One day, {he} could not find the {thing}.",
      "Then {he} lost it in the {place2}, and {he} was very sad."},
     {"{hero} looked under the {hiding}, but it was not there.",
      "{He} looked in the {place2} and behind the {hiding}."},
     {"?{He} [began to cry|sat down and cried|felt sad and alone].", "?\"Where is my {thing}?\" {he} asked."},
     {"{friend} the {animal} saw {him} and asked, \"What is wrong?\"",
      "{His} friend {friend}, {a trait2} {animal}, came to help."},
     {"\"I lost my {thing},\" said {hero}.", "{hero} told {friend} about the {color} {thing}."},
     {"Together they looked [all day|everywhere|again], and {friend} saw something {color} near the "
      "{hiding}.",
      "{friend} looked behind the {hiding} and found it."},
     {"?\"Thank you!\" said {hero}.", "?{hero} jumped for joy and said, \"Thank you, {friend}!\""}},
    // Sharing.
    {{"{hero} had {a look} {color} {thing}.", "{His} {grown} gave {him} {a look} {color} {thing}."},
     {"{friend} the {animal} wanted to play with it too.",
      "{friend} came and asked, \"Can I play with your {thing}?\""},
     {"\"No, it is mine!\" said {hero}.", "But {hero} did not want to share."},
     {"{friend} was [sad|hurt|very quiet] and walked away.", "{friend} felt sad and went home."},
     {"?Soon {hero} was bored, because it is no fun to play alone.", "?{hero} felt bad and sat under the {hiding}."},
     {"{His} {grown} said, \"{A thing} is more fun with a friend.\"",
      "{hero} asked {his} {grown} what to do, and {he} heard, \"Say sorry and share.\""},
     {"So {hero} ran to {friend} and said, \"I am sorry. Let us play together.\"",
      "{hero} went to {friend}, said sorry, and gave the {thing} to {friend}."},
     {"?They took turns with the {thing} all day.", "?They laughed and played in the {place2}."}},
    // Weather.
    {{"{hero} and {friend} the {animal} went to the {place2} to play.",
      "{He} wanted to fly {a color} kite with {friend} the {animal}."},
     {"The sun was [bright|warm], and they were [happy|glad].", "They ran and sang and had fun."},
     {"Then the sky turned [gray|dark], and [rain began to fall|the wind began to blow|snow began to fall].",
      "But a big storm came from the hill."},
     {"\"I am cold,\" said {friend}.", "\"Oh no, what can we do?\" asked {friend}."},
     {"?They ran as fast as they could.", "?{hero} held the hand of {friend} and did not let go."},
     {"They hid under {a look} {hiding} and waited.", "{hero} saw {a look} {hiding}, and they hid there."},
     {"They told each other [stories|jokes|secrets] and shared {a food}.", "{friend} had {a food}, and they ate it."},
     {"At last, the sun came back, and there was a rainbow over the {place2}.",
      "Soon it was over, and everything was [wet|clean] and shiny."}},
    // Learning.
    {{"{hero} wanted to learn to {skill}.", "{His} dream was to {skill} like {friend} the {animal}."},
     {"{He} tried, but it was [hard|not easy|too difficult].",
      "The first time, {he} fell and hurt {his} [knee|nose|arm]."},
     {"?\"I will never learn it,\" said {hero}.", "?{hero} was angry and wanted to stop."},
     {"{friend} the {animal} said, \"Do not give up. Try again.\"", "{His} {grown} said, \"Try a little every day.\""},
     {"So {hero} tried every [day|morning|evening] at the {place2}.", "{He} tried again and again and again."},
     {"?Some days were good, and some days were bad.", "?Step by step, it became [easier|better]."},
     {"One day, {he} could {skill}!", "At last, {hero} could {skill} all alone!"},
     {"\"Look at me!\" {he} shouted.", "Everybody clapped, and {friend} [cheered|smiled]."}},
    // Helping.
    {{"One day, {hero} walked through the {place2}.", "{hero} went for a walk with {his} {grown}."},
     {"{He} heard a small sound from the {hiding}.", "Near the {hiding}, {he} heard someone cry."},
     {"It was a tiny {small} with a hurt leg.", "{A color} {small} was stuck there and could not get out.",
      "There was a little {small}, all alone."},
     {"\"Do not be afraid,\" said {hero}. \"I will help you.\"", "\"Please help me,\" said the {small}."},
     {"{hero} gave it some water and {a food}.", "{He} was very careful and lifted the {small} out.",
      "{He} put it in {his} {look} {thing} and took it home."},
     {"?{His} {grown} said, \"You are so {trait2}.\"", "?{hero} sang a soft song for the {small}."},
     {"After [a day|a week|some time], the {small} was well again.", "Soon the {small} was strong and happy."},
     {"The {small} said, \"Thank you, {hero}. Now I am your friend.\"",
      "The next day, the {small} came back with {a look} {treasure} as a gift."}},
    // Fear.
    {{"{hero} was afraid of {fear}.", "There was one thing that {he} did not like: {fear}."},
     {"One night, {he} heard a strange sound.", "One evening, {he} had to go to the {place2} alone."},
     {"{He} hid under the {hiding} and shook.", "{His} heart went boom, boom, boom."},
     {"{His} {grown} came with a [light|lamp|warm drink] and asked, \"What is it?\"",
      "{friend} the {animal} came and sat beside {him}."},
     {"?\"I am scared of {fear},\" said {hero}.", "?{hero} told everything."},
     {"\"Take my hand. We will look at it together,\" said {friend}.",
      "\"You can be scared and brave at the same time,\" said {his} {grown}."},
     {"{hero} took a deep breath and opened {his} eyes.", "{He} counted to ten and stood up."},
     {"It was only a little {small}!", "It was only the wind in the {hiding}.",
      "And then {fear} did not feel so bad at all."}},
    // Making.
    {{"{hero} wanted to make {a food} for {friend} the {animal}.",
      "It was the birthday of {friend} the {animal}, and {hero} wanted to make {a food}."},
     {"{He} went to the {place2} to get [milk|sugar|flour|honey] and [butter|nuts|berries|salt].",
      "{He} asked {his} {grown} for help."},
     {"They mixed everything in {a look} {color} bowl.", "{He} mixed and mixed until {his} arms were tired."},
     {"But oh no, the bowl fell on the floor!", "Then {he} forgot it in the oven, and it turned black."},
     {"?{hero} wanted to cry.", "?\"What a mess!\" said {his} {grown}, and they had to laugh."},
     {"\"We can try again,\" said {his} {grown}.", "{He} cleaned up and began again."},
     {"The new one was [sweet|warm|perfect] and smelled good.", "This time, {he} was careful, and it was perfect."},
     {"{friend} ate it all and said, \"Yum! Thank you, {hero}!\"",
      "When {friend} saw the {food}, {friend} [danced|jumped up and down]."}},
    // A rule.
    {{"{His} {grown} said, \"Do not go to the {place2} alone.\"",
      "{His} {grown} said, \"Do not touch the {color} {thing}.\""},
     {"But {hero} was too curious.", "But {hero} did not listen."},
     {"When nobody looked, {he} [did it|went and did it] anyway.",
      "{He} waited until it was quiet and then {he} did it."},
     {"Then [something broke|there was a loud crash|{he} fell into the mud].", "Soon {he} was in big trouble."},
     {"?\"Help!\" {he} shouted, but no one came.", "?{He} was scared and did not know what to do."},
     {"{friend} the {animal} heard {him} and ran to get {his} {grown}.",
      "After a while, {his} {grown} came and helped {him}."},
     {"\"I am sorry,\" said {hero}. \"I will listen next time.\"", "{hero} told the truth and said sorry."},
     {"{His} {grown} was not angry and gave {him} a hug.", "\"I am glad that you told me,\" said {his} {grown}."}},
    // A discovery.
    {{"In the {place2}, {hero} found {a look} {treasure}.",
      "Under the {hiding}, there was {a look} {color} {treasure}."},
     {"\"What is this?\" {he} asked.", "{He} had never seen anything like it."},
     {"{He} showed it to {friend} the {animal}.", "{friend} the {animal} came to look at it."},
     {"\"I think it is [magic|very old|a secret],\" said {friend}.",
      "\"Let us find out where it is from,\" said {friend}."},
     {"?They walked over the hill and through the {place2}.",
      "?They asked an old {animal2}, who pointed to the {hiding}."},
     {"Behind the {hiding}, they found {a look} {thing}.",
      "There they saw a door, and behind the door was {a color} {thing}."},
     {"It belonged to {a trait2} old {animal2} who had looked for it for years.",
      "They did not keep it but gave it to {a kind2} who had lost it."},
     {"The old {animal2} thanked them with {a food}.",
      "\"You are honest friends,\" somebody said, and they were proud."}},
    // A race.
    {{"Every year there was a [race|contest|game] at the {place2}.",
      "One day, {friend} the {animal} said, \"Let us have a race!\""},
     {"{friend} was [fast|strong|quick], and {hero} was [slow|small|tired].",
      "Everyone thought that {friend} would win."},
     {"They ran past the {hiding} and over the hill.", "\"One, two, three, go!\" they shouted."},
     {"Then {friend} fell over {a look} {thing} and could not go on.",
      "On the way, {friend} saw a hurt {small} and stopped."},
     {"?{hero} could win now.", "?{hero} was far ahead and saw the end."},
     {"But {hero} turned around and helped {friend}.", "But {hero} stopped too, because friends are more important."},
     {"They crossed the line together, hand in hand.", "They came last, but they came together."},
     {"Everybody cheered, and both got {a color} {thing}.", "\"You are the real winners,\" said {his} {grown}."}},
};

}  // namespace glint::tales
